// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "taken.h"

#include "corral/core/losses.h"

#include <stdlib.h>
#include <string.h>

struct ppo_taken {
    const corral_policy *policy;
    size_t choices, logits, numbers; // per row
    int32_t *choice;
    float *number;
    uint8_t *mask;
    float *old_logits, *old_mean, *old_log_std;
    float *hidden, *cell, *remembered; // of a recurrent policy, per sequence (of a row at least)
    uint8_t *reset;
};

corral_status ppo_taken_create(const corral_policy *policy, size_t rows, ppo_taken **out_taken)
{
    ppo_taken *t = calloc(1, sizeof *t);
    if (t == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the actions of a minibatch");
    t->policy = policy;
    corral_policy_action_widths(policy, &t->choices, &t->logits, &t->numbers);
    t->choice = calloc(rows * t->choices + 1, sizeof *t->choice);
    t->number = calloc(rows * t->numbers + 1, sizeof *t->number);
    t->mask = calloc(rows * t->logits + 1, sizeof *t->mask);
    t->old_logits = calloc(rows * t->logits + 1, sizeof *t->old_logits);
    t->old_mean = calloc(rows * t->numbers + 1, sizeof *t->old_mean);
    t->old_log_std = calloc(rows * t->numbers + 1, sizeof *t->old_log_std);
    const size_t memory = corral_policy_memory_size(corral_policy_get_config(policy));
    t->hidden = calloc(rows * memory + 1, sizeof *t->hidden);
    t->cell = calloc(rows * memory + 1, sizeof *t->cell);
    t->remembered = calloc(rows * memory + 1, sizeof *t->remembered);
    t->reset = calloc(rows, 1);
    if (t->hidden == NULL || t->cell == NULL || t->remembered == NULL || t->reset == NULL ||
        t->choice == NULL || t->number == NULL || t->mask == NULL || t->old_logits == NULL ||
        t->old_mean == NULL || t->old_log_std == NULL) {
        ppo_taken_destroy(t);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the actions of a minibatch");
    }
    *out_taken = t;
    return CORRAL_OK;
}

void ppo_taken_destroy(ppo_taken *t)
{
    if (t == NULL) return;
    free(t->choice);
    free(t->number);
    free(t->mask);
    free(t->old_logits);
    free(t->old_mean);
    free(t->old_log_std);
    free(t->hidden);
    free(t->cell);
    free(t->remembered);
    free(t->reset);
    free(t);
}

/// Parts the words of each row into choices and numbers.
static void gather_actions(ppo_taken *t, const batch *b, const uint32_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int32_t *words = b->action + (size_t)rows[i] * b->action_words;
        memcpy(t->choice + i * t->choices, words, t->choices * sizeof *words);
        memcpy(t->number + i * t->numbers, words + t->choices, t->numbers * sizeof *words);
        memcpy(t->mask + i * t->logits, b->mask + (size_t)rows[i] * b->mask_bytes, b->mask_bytes);
    }
}

/// Parts the inputs of the distributions that acted: logits, means, logarithms of deviations.
static void gather_old(ppo_taken *t, const float *inputs, size_t count)
{
    const size_t n = t->numbers, bytes = n * sizeof *inputs;
    for (size_t i = 0; i < count; i++, inputs += t->logits + 2 * n) {
        memcpy(t->old_logits + i * t->logits, inputs, t->logits * sizeof *inputs);
        memcpy(t->old_mean + i * n, inputs + t->logits, bytes);
        memcpy(t->old_log_std + i * n, inputs + t->logits + n, bytes);
    }
}

/// What is remembered before each sequence, and where episodes begin in them.
static void gather_memory(ppo_taken *t, const batch *b, const uint32_t *rows, size_t count)
{
    const size_t size = b->memory_size, sequences = count / b->sequence;
    for (size_t s = 0; s < sequences; s++)
        memcpy(t->remembered + s * size, b->memory + rows[s * b->sequence] / b->sequence * size,
               size * sizeof *t->remembered);
    corral_policy_part_memory(corral_policy_get_config(t->policy), sequences, t->remembered, t->hidden,
                              t->cell);
    for (size_t i = 0; i < count; i++)
        t->reset[i] = b->reset[rows[i]];
}

corral_tensor *ppo_taken_loss(ppo_taken *t, const batch *b, corral_tape *tape, const uint32_t *rows,
                              size_t count, const float *observation, const corral_ppo_terms *terms,
                              corral_ppo_stats *stats)
{
    const float *old = terms->old_log_probs;
    gather_actions(t, b, rows, count);
    if (old != NULL) gather_old(t, old, count);
    if (b->sequence > 0) gather_memory(t, b, rows, count);
    const corral_policy_taken taken = {.choice = t->choice,
                                       .number = t->number,
                                       .mask = t->mask,
                                       .old_logits = old != NULL ? t->old_logits : NULL,
                                       .old_mean = old != NULL ? t->old_mean : NULL,
                                       .old_log_std = old != NULL ? t->old_log_std : NULL,
                                       .steps = b->sequence > 0 ? b->sequence : 1,
                                       .reset = b->sequence > 0 ? t->reset : NULL,
                                       .hidden = b->sequence > 0 ? t->hidden : NULL,
                                       .cell = b->sequence > 0 ? t->cell : NULL};
    corral_policy_judged judged;
    corral_policy_judge(t->policy, tape, count, observation, &taken, &judged);
    return corral_ppo_rows_loss(judged.log_prob, judged.entropy, judged.value, judged.kl, terms, stats);
}
