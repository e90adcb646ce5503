// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Agents of Stable-Baselines3. Its modules are numbered with their activations, so linear layers have even
/// numbers:
///
///     PPO, A2C   mlp_extractor.policy_net.{0,2,..}   action_net   mlp_extractor.value_net.{0,2,..} value_net
///     DQN        q_net.q_net.{0,2,..}, of which the last is the head
///
/// each with ".weight" [out, in] and ".bias" [out]; obs_rms.mean and obs_rms.var where observations were
/// normalised (VecNormalize: clip((x - mean) / sqrt(var + epsilon), -clip_obs, clip_obs)). What only training
/// needs (the target network, the spread of exploration) is passed over. Nothing else may be in the file: a
/// network with parts that are not understood would act, but not as it was trained.
#include "corral/policy/import.h"

#include "policy_internal.h"

#include "corral/base/file.h"
#include "corral/base/safetensors.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 96, FILE_LIMIT = 1 << 30, WIDTH_LIMIT = 1 << 20 };

static const double own_epsilon = 1e-8; // that filter.c adds to a variance

/// The linear layers `prefix`.{0,2,..} of a file.
typedef struct sb3_tower {
    const corral_stored_tensor *weight[CORRAL_SIZES_MAX + 1], *bias[CORRAL_SIZES_MAX + 1];
    uint32_t count;
} sb3_tower;

typedef struct sb3_file {
    const char *name;
    corral_safetensors *tensors;
    bool q_network;
    sb3_tower actor, critic; // heads included; a Q-network has no critic
    const corral_stored_tensor *mean, *variance, *log_std;
    double epsilon, clip;
} sb3_file;

static corral_status unsupported(const sb3_file *f, const char *tensor, const char *why)
{
    return corral_fail(CORRAL_ERROR_UNSUPPORTED, "%s: tensor \"%s\" %s", f->name, tensor, why);
}

// --- the file ---------------------------------------------------------------------------------------------

static bool all_finite(const corral_stored_tensor *t)
{
    const float *x = t->data;
    for (size_t i = 0; i < t->size / sizeof *x; i++) {
        if (!isfinite(x[i])) return false;
    }
    return true;
}

/// A layer's two tensors, checked against each other and against the layer before.
static corral_status add_layer(sb3_file *f, sb3_tower *tower, const char *prefix)
{
    char name[NAME_SIZE];
    if (tower->count > CORRAL_SIZES_MAX) return unsupported(f, prefix, "is one layer too many");
    snprintf(name, sizeof name, "%s.bias", prefix);
    const corral_stored_tensor *bias = corral_safetensors_find(f->tensors, name);
    if (bias == NULL) return corral_fail(CORRAL_ERROR_CORRUPT, "%s: no tensor \"%s\"", f->name, name);
    snprintf(name, sizeof name, "%s.weight", prefix);
    const corral_stored_tensor *weight = corral_safetensors_find(f->tensors, name);
    if (weight == NULL) return corral_fail(CORRAL_ERROR_CORRUPT, "%s: no tensor \"%s\"", f->name, name);
    if (weight->type != CORRAL_STORED_F32 || bias->type != CORRAL_STORED_F32)
        return unsupported(f, name, "or its bias is not F32");
    if (weight->dimension_count != 2 || bias->dimension_count != 1 || weight->shape[0] != bias->shape[0])
        return unsupported(f, name, "and its bias are not of shapes [out, in] and [out]");
    if (weight->size == 0 || weight->shape[0] > WIDTH_LIMIT || weight->shape[1] > WIDTH_LIMIT)
        return unsupported(f, name, "is empty or too wide");
    if (tower->count > 0 && tower->weight[tower->count - 1]->shape[0] != weight->shape[1])
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "%s: tensor \"%s\" does not take what the layer before gives", f->name, name);
    if (!all_finite(weight) || !all_finite(bias))
        return corral_fail(CORRAL_ERROR_NOT_FINITE, "%s: tensor \"%s\" or its bias is not finite", f->name,
                           name);
    tower->weight[tower->count] = weight;
    tower->bias[tower->count++] = bias;
    return CORRAL_OK;
}

/// All layers of a chain of modules, and then the head, unless that is the chain's last (NULL).
static corral_status find_tower(sb3_file *f, sb3_tower *tower, const char *chain, const char *head)
{
    corral_status status = CORRAL_OK;
    for (unsigned module = 0; status == CORRAL_OK; module += 2) {
        char name[NAME_SIZE], prefix[NAME_SIZE - 16];
        snprintf(prefix, sizeof prefix, "%s.%u", chain, module);
        snprintf(name, sizeof name, "%s.weight", prefix);
        if (corral_safetensors_find(f->tensors, name) == NULL) break;
        status = add_layer(f, tower, prefix);
    }
    if (status == CORRAL_OK && head != NULL) status = add_layer(f, tower, head);
    if (status == CORRAL_OK && tower->count < 2)
        status = corral_fail(CORRAL_ERROR_UNSUPPORTED, "%s: \"%s\" has no hidden layer", f->name, chain);
    return status;
}

static bool is_layer_of(const sb3_tower *tower, const corral_stored_tensor *tensor)
{
    for (uint32_t i = 0; i < tower->count; i++) {
        if (tower->weight[i] == tensor || tower->bias[i] == tensor) return true;
    }
    return false;
}

/// Each tensor is part of what was understood, or of training alone.
static corral_status check_complete(const sb3_file *f)
{
    for (size_t i = 0; i < corral_safetensors_count(f->tensors); i++) {
        const corral_stored_tensor *t = corral_safetensors_at(f->tensors, i);
        const bool training =
            strncmp(t->name, "q_net_target.", 13) == 0 || strcmp(t->name, "obs_rms.count") == 0;
        if (training || t == f->mean || t == f->variance || t == f->log_std || is_layer_of(&f->actor, t) ||
            is_layer_of(&f->critic, t))
            continue;
        return unsupported(f, t->name,
                           "belongs to a kind of network that cannot be imported; linear layers "
                           "over a flat observation can");
    }
    return CORRAL_OK;
}

// --- normalisation ----------------------------------------------------------------------------------------

static corral_status check_statistic(const sb3_file *f, const corral_stored_tensor *t, const char *name)
{
    if (t == NULL) return corral_fail(CORRAL_ERROR_CORRUPT, "%s: no tensor \"%s\"", f->name, name);
    if ((t->type != CORRAL_STORED_F32 && t->type != CORRAL_STORED_F64) || t->dimension_count != 1 ||
        t->shape[0] != f->actor.weight[0]->shape[1])
        return unsupported(f, name, "is not one float per element of the observation");
    return CORRAL_OK;
}

static double statistic_at(const corral_stored_tensor *t, size_t i)
{
    return t->type == CORRAL_STORED_F64 ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i];
}

/// "obs_norm": "null", or {"epsilon": .., "clip_obs": ..}.
static corral_status read_normalisation(sb3_file *f)
{
    const char *text = corral_safetensors_metadata(f->tensors, "obs_norm");
    f->mean = corral_safetensors_find(f->tensors, "obs_rms.mean");
    f->variance = corral_safetensors_find(f->tensors, "obs_rms.var");
    if (f->mean == NULL && f->variance == NULL && (text == NULL || strcmp(text, "null") == 0))
        return CORRAL_OK;
    corral_status status = check_statistic(f, f->mean, "obs_rms.mean");
    if (status == CORRAL_OK) status = check_statistic(f, f->variance, "obs_rms.var");
    if (status != CORRAL_OK) return status;
    f->epsilon = own_epsilon; // the library's defaults
    f->clip = 10.0;
    cJSON *root = text != NULL ? cJSON_Parse(text) : NULL;
    const cJSON *epsilon = cJSON_GetObjectItemCaseSensitive(root, "epsilon");
    const cJSON *clip = cJSON_GetObjectItemCaseSensitive(root, "clip_obs");
    if (cJSON_IsNumber(epsilon)) f->epsilon = epsilon->valuedouble;
    if (cJSON_IsNumber(clip)) f->clip = clip->valuedouble;
    const bool sound = (text == NULL || cJSON_IsObject(root)) && f->epsilon > 0 && f->clip > 0 &&
                       isfinite(f->epsilon) && isfinite(f->clip);
    cJSON_Delete(root);
    if (!sound)
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "%s: its metadata \"obs_norm\" needs positive epsilon and "
                           "clip_obs",
                           f->name);
    for (size_t i = 0; i < f->mean->shape[0]; i++) {
        const double variance = statistic_at(f->variance, i);
        if (!isfinite(statistic_at(f->mean, i)) || !isfinite(variance) || variance < 0)
            return corral_fail(CORRAL_ERROR_CORRUPT, "%s: element %zu of obs_rms is no mean and variance",
                               f->name, i);
    }
    return CORRAL_OK;
}

/// With a count of 1 the sum of squared deviations is the variance; the two epsilons may differ.
static void take_normalisation(const sb3_file *f, policy_filter *filter)
{
    if (f->mean == NULL) return;
    filter->count = 1;
    for (uint32_t i = 0; i < filter->size; i++) {
        filter->mean[i] = statistic_at(f->mean, i);
        filter->m2[i] = statistic_at(f->variance, i) + (f->epsilon - own_epsilon);
    }
    policy_filter_refresh(filter);
}

// --- the policy -------------------------------------------------------------------------------------------

/// Numbers as actions have their means in the head, and the logarithms of their deviations in a tensor apart:
/// one per number, or (gSDE) one per feature and number.
static corral_status describe_numbers(const sb3_file *f, size_t outputs, corral_policy_config *config)
{
    const corral_stored_tensor *t = f->log_std;
    const size_t features = f->actor.weight[f->actor.count - 1]->shape[1];
    const bool gsde = t->dimension_count == 2;
    if (t->type != CORRAL_STORED_F32 || t->size != outputs * (gsde ? features : 1) * sizeof(float) ||
        !all_finite(t))
        return unsupported(f, "log_std", "is not one finite F32 per number, or per feature and number");
    for (uint32_t k = 0; k < config->action.part_count; k++) {
        if (config->action.part[k].kind != CORRAL_PART_NUMBERS)
            return corral_fail(CORRAL_ERROR_INVALID,
                               "%s: its actions are numbers, those of the environment are not", f->name);
    }
    config->deviation = gsde ? CORRAL_DEVIATION_GSDE : CORRAL_DEVIATION_FREE;
    config->noise_every = 1;
    return CORRAL_OK;
}

/// Whether the network takes and gives what the spaces say.
static corral_status describe_spaces(const sb3_file *f, const corral_policy_config *spaces,
                                     corral_policy_config *out_config)
{
    const size_t seen = f->actor.weight[0]->shape[1], outputs = f->actor.weight[f->actor.count - 1]->shape[0];
    if (spaces == NULL && f->log_std != NULL)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "%s: its actions are numbers; the spaces of an environment are "
                           "needed",
                           f->name);
    if (spaces != NULL) *out_config = *spaces;
    if (spaces == NULL) {
        out_config->observation_size = (uint32_t)seen;
        out_config->action_count = (uint32_t)outputs;
    }
    const size_t wanted = out_config->action_count / (f->log_std != NULL ? 2 : 1);
    if (seen != out_config->observation_size || outputs != wanted ||
        (f->log_std == NULL && out_config->action.part_count > 0))
        return corral_fail(
            CORRAL_ERROR_INVALID,
            "%s: its network sees %zu numbers and has %zu outputs, which does not fit the environment",
            f->name, seen, outputs);
    return f->log_std != NULL ? describe_numbers(f, outputs, out_config) : CORRAL_OK;
}

static corral_status describe(const sb3_file *f, const corral_policy_config *spaces,
                              corral_policy_config *out_config)
{
    const sb3_tower *actor = &f->actor, *critic = &f->critic;
    *out_config = (corral_policy_config){0};
    const corral_status status = describe_spaces(f, spaces, out_config);
    if (status != CORRAL_OK) return status;
    out_config->kind = f->q_network ? CORRAL_POLICY_Q : CORRAL_POLICY_ACTOR_CRITIC;
    out_config->activation = f->q_network ? CORRAL_RELU : CORRAL_TANH;
    out_config->normalize_observation = f->mean != NULL;
    out_config->observation_clip = f->mean != NULL ? f->clip : 10.0;
    for (uint32_t i = 0; i + 1 < actor->count; i++)
        out_config->hidden.value[out_config->hidden.count++] = (uint32_t)actor->weight[i]->shape[0];
    for (uint32_t i = 0; !f->q_network && i + 1 < critic->count; i++) {
        if (critic->count != actor->count || critic->weight[i]->shape[0] != actor->weight[i]->shape[0])
            return corral_fail(CORRAL_ERROR_UNSUPPORTED,
                               "%s: its value network has other layers than its policy network", f->name);
    }
    const char *activation = corral_safetensors_metadata(f->tensors, "activation");
    if (activation == NULL) return CORRAL_OK;
    if (strcmp(activation, "tanh") != 0 && strcmp(activation, "relu") != 0)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED,
                           "%s: its activation is \"%.32s\"; tanh and relu can be "
                           "imported",
                           f->name, activation);
    out_config->activation = activation[0] == 't' ? CORRAL_TANH : CORRAL_RELU;
    return CORRAL_OK;
}

static void copy(corral_params *params, uint32_t index, const corral_stored_tensor *from)
{
    const corral_param *entry = corral_params_entry(params, index);
    CORRAL_ASSERT(entry->count * sizeof(float) == from->size);
    memcpy((float *)corral_params_data(params) + entry->offset, from->data, from->size);
}

static void take_tower(corral_policy *policy, const policy_tower *to, uint32_t at, const sb3_tower *from,
                       uint32_t first)
{
    for (uint32_t i = first; at < to->count; i++, at++) {
        copy(policy->params, to->layer[at].weight, from->weight[i]);
        copy(policy->params, to->layer[at].bias, from->bias[i]);
    }
}

static corral_status build(const sb3_file *f, const corral_policy_config *spaces, corral_policy **out_policy)
{
    corral_policy_config config;
    corral_policy *policy;
    corral_status status = describe(f, spaces, &config);
    if (status == CORRAL_OK) status = policy_create_uninitialised(&config, &policy);
    if (status != CORRAL_OK) return status;
    take_tower(policy, &policy->trunk, 0, &f->actor, 0); // a Q-network's hidden layers; else none
    take_tower(policy, &policy->actor, 0, &f->actor, policy->trunk.count);
    if (policy->general) {
        const policy_layer *mean = &policy->heads.mean;
        copy(policy->params, mean->weight, f->actor.weight[f->actor.count - 1]);
        copy(policy->params, mean->bias, f->actor.bias[f->actor.count - 1]);
        copy(policy->params, policy->heads.log_std, f->log_std);
    }
    take_tower(policy, &policy->critic, 0, &f->critic, 0);
    take_normalisation(f, &policy->filter);
    corral_params_refresh(policy->params);
    *out_policy = policy;
    return CORRAL_OK;
}

corral_status corral_policy_import_sb3_bytes(const char *name, const void *bytes, size_t size,
                                             const corral_policy_config *spaces, corral_policy **out_policy)
{
    sb3_file f = {.name = name};
    corral_status status = corral_safetensors_parse(name, bytes, size, &f.tensors);
    if (status != CORRAL_OK) return status;
    f.q_network = corral_safetensors_find(f.tensors, "q_net.q_net.0.weight") != NULL;
    if (f.q_network) {
        status = find_tower(&f, &f.actor, "q_net.q_net", NULL);
    } else {
        status = find_tower(&f, &f.actor, "mlp_extractor.policy_net", "action_net");
        f.log_std = corral_safetensors_find(f.tensors, "log_std");
        if (status == CORRAL_OK) status = find_tower(&f, &f.critic, "mlp_extractor.value_net", "value_net");
    }
    if (status == CORRAL_OK) status = read_normalisation(&f);
    if (status == CORRAL_OK) status = check_complete(&f);
    if (status == CORRAL_OK) status = build(&f, spaces, out_policy);
    corral_safetensors_destroy(f.tensors);
    return status;
}

corral_status corral_policy_import_sb3(const char *path, const corral_policy_config *spaces,
                                       corral_policy **out_policy)
{
    char *bytes;
    size_t size;
    corral_status status = corral_file_read(path, FILE_LIMIT, &bytes, &size);
    if (status != CORRAL_OK) return status;
    status = corral_policy_import_sb3_bytes(path, bytes, size, spaces, out_policy);
    free(bytes);
    return status;
}
