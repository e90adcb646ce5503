// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Sums over the members of a group, in the order of their ranks. Members are threads of this process: each
// brings its values, the last one to come adds them up, and all take the sum away.

#include "shim_private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/// What the members of one group share.
typedef struct meeting {
    struct meeting *next;
    unsigned char id[CORRAL_DEVICE_GROUP_ID];
    uint32_t members, count, come;
    float **values; // [count], by rank
    uint64_t round;
} meeting;

struct corral_reduce_group {
    meeting *meeting;
    uint32_t rank;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static meeting *meetings;
static uint64_t ids;

bool shim_reduce_id(void *out_id)
{
    pthread_mutex_lock(&lock);
    const uint64_t id = ++ids;
    pthread_mutex_unlock(&lock);
    memset(out_id, 0, CORRAL_DEVICE_GROUP_ID);
    memcpy(out_id, &id, sizeof id);
    return true;
}

static meeting *find_or_create(const void *id, uint32_t count)
{
    for (meeting *m = meetings; m != NULL; m = m->next)
        if (memcmp(m->id, id, sizeof m->id) == 0) return m;
    meeting *m = calloc(1, sizeof *m);
    float **values = calloc(count, sizeof *values);
    if (m == NULL || values == NULL) {
        free(m);
        free(values);
        return NULL;
    }
    memcpy(m->id, id, sizeof m->id);
    m->count = count;
    m->values = values;
    m->next = meetings;
    meetings = m;
    return m;
}

corral_reduce_group *shim_reduce_create(const void *id, uint32_t rank, uint32_t count)
{
    corral_reduce_group *group = rank < count ? calloc(1, sizeof *group) : NULL;
    if (group == NULL) return NULL;
    pthread_mutex_lock(&lock);
    group->meeting = find_or_create(id, count);
    group->rank = rank;
    if (group->meeting != NULL) group->meeting->members++;
    pthread_mutex_unlock(&lock);
    if (group->meeting != NULL) return group;
    free(group);
    return NULL;
}

void shim_reduce_destroy(corral_reduce_group *group)
{
    if (group == NULL) return;
    meeting *m = group->meeting;
    pthread_mutex_lock(&lock);
    if (--m->members == 0) {
        meeting **at = &meetings;
        while (*at != m)
            at = &(*at)->next;
        *at = m->next;
        free(m->values);
        free(m);
    }
    pthread_mutex_unlock(&lock);
    free(group);
}

static void add_up(meeting *m, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (uint32_t rank = 0; rank < m->count; rank++)
            sum += m->values[rank][i];
        for (uint32_t rank = 0; rank < m->count; rank++)
            m->values[rank][i] = sum;
    }
}

typedef struct reduction {
    corral_reduce_group *group;
    float *values;
    size_t count;
} reduction;

static void run_reduction(const void *argument)
{
    const reduction *r = argument;
    meeting *m = r->group->meeting;
    pthread_mutex_lock(&lock);
    m->values[r->group->rank] = r->values;
    const uint64_t round = m->round;
    if (++m->come == m->count) {
        add_up(m, r->count);
        m->come = 0;
        m->round++;
        pthread_cond_broadcast(&changed);
    }
    while (m->round == round)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

void shim_all_reduce(corral_reduce_group *group, corral_stream *stream, float *values, size_t count)
{
    const reduction r = {group, values, count};
    shim_submit(stream, run_reduction, &r, sizeof r);
}
