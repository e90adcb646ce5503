// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Several threads find the same library at once and play batches of their own: all play the same episodes.
// The test's own assertions are for one thread, so players hand back what they saw.

#include "rig.h"

#include <pthread.h>

enum { THREADS = 4, COUNT = 8, STEPS = 300 };

typedef struct player {
    pthread_t thread;
    rig rig;
    corral_status status;
    const corral_env_type *found; // in the library
    double sum;                   // of all that was seen
} player;

static corral_status play(player *p, const char *name)
{
    rig *r = &p->rig;
    r->config = (corral_env_batch_config){
        .count = COUNT, .run_seed = 3, .role = CORRAL_STREAM_ENVIRONMENT, .max_episode_steps = -1};
    rig_wire(r);
    corral_status status = corral_env_find(name, &r->config.type);
    if (status == CORRAL_OK) status = corral_env_batch_create(&r->config, &r->batch);
    if (status == CORRAL_OK) status = corral_env_batch_reset(r->batch, &r->observation_rows);
    for (uint64_t t = 0; t < STEPS && status == CORRAL_OK; t++) {
        rig_draw_actions(r, t);
        status = corral_env_batch_step_all(r->batch, &r->action_rows, &r->step);
        for (uint32_t i = 0; i < COUNT; i++)
            p->sum += r->observation[i][0] * (double)(i + 1);
    }
    rig_close(r);
    return status;
}

static void *find_and_play(void *argument)
{
    player *p = argument;
    p->status = play(p, PLUGIN_DIR "/right.so:Right-v0");
    p->found = p->rig.config.type;
    if (p->status == CORRAL_OK) p->status = play(p, "CartPole-v1");
    return NULL;
}

static void the_same_in_every_thread(void)
{
    static player players[THREADS];
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&players[i].thread, NULL, find_and_play, &players[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        CU_ASSERT_EQUAL(pthread_join(players[i].thread, NULL), 0);
        CU_ASSERT_EQUAL(players[i].status, CORRAL_OK);
        CU_ASSERT_PTR_EQUAL(players[i].found, players[0].found);
        CU_ASSERT_EQUAL(players[i].sum, players[0].sum);
    }
    CU_ASSERT_NOT_EQUAL(players[0].sum, 0);
}

int main(void)
{
    return test_run("threads",
                    (test_case[]){{"the same in every thread", the_same_in_every_thread}, {NULL, NULL}});
}
