// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Acting needs memory to work in, so each thread that acts borrows a copy of the policy and gives it back:
/// there are as many copies as threads ever acted at once.
#include "corral/policy/agent.h"

#include "corral/base/file.h"
#include "corral/policy/policy.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

typedef struct copy {
    corral_policy *policy;
    int32_t *words; // of an action, as the policy has it
    float *logits;
    struct copy *next;
} copy;

struct corral_agent {
    corral_policy *policy;
    pthread_mutex_t lock;
    copy *unused; // behind the lock
};

static void copy_destroy(copy *c)
{
    if (c == NULL) return;
    corral_policy_destroy(c->policy);
    free(c->words);
    free(c->logits);
    free(c);
}

static corral_status copy_create(const corral_policy *policy, copy **out_copy)
{
    const corral_policy_config *config = corral_policy_get_config(policy);
    copy *c = calloc(1, sizeof *c);
    if (c == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an agent");
    corral_status status = corral_policy_clone(policy, &c->policy);
    c->words = calloc(corral_policy_action_words(config), sizeof *c->words);
    c->logits = calloc(config->action_count, sizeof *c->logits);
    if (status == CORRAL_OK && (c->words == NULL || c->logits == NULL))
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an agent");
    if (status != CORRAL_OK) {
        copy_destroy(c);
        return status;
    }
    *out_copy = c;
    return CORRAL_OK;
}

static corral_status borrow(corral_agent *agent, copy **out_copy)
{
    pthread_mutex_lock(&agent->lock);
    copy *c = agent->unused;
    if (c != NULL) agent->unused = c->next;
    pthread_mutex_unlock(&agent->lock);
    if (c == NULL) return copy_create(agent->policy, out_copy);
    *out_copy = c;
    return CORRAL_OK;
}

static void give_back(corral_agent *agent, copy *c)
{
    pthread_mutex_lock(&agent->lock);
    c->next = agent->unused;
    agent->unused = c;
    pthread_mutex_unlock(&agent->lock);
}

static corral_status read_policy(const char *path, corral_policy **out_policy)
{
    struct stat what;
    if (stat(path, &what) != 0 || !S_ISDIR(what.st_mode)) return corral_policy_read(path, out_policy);
    char *file = corral_format("%s/policy.safetensors", path);
    if (file == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    const corral_status status = corral_policy_read(file, out_policy);
    free(file);
    return status;
}

corral_status corral_agent_load(const char *path, corral_agent **out_agent)
{
    corral_agent *agent = calloc(1, sizeof *agent);
    if (agent == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an agent");
    pthread_mutex_init(&agent->lock, NULL);
    corral_status status = read_policy(path, &agent->policy);
    if (status == CORRAL_OK && corral_policy_memory_size(corral_policy_get_config(agent->policy)) > 0)
        status = corral_fail(
            CORRAL_ERROR_UNSUPPORTED,
            "%s: a policy with a memory does not act by observations alone; use corral/policy/policy.h",
            path);
    if (status != CORRAL_OK) {
        corral_agent_destroy(agent);
        return status;
    }
    *out_agent = agent;
    return CORRAL_OK;
}

corral_status corral_agent_act(corral_agent *agent, const void *observation, void *out_action)
{
    copy *c = NULL;
    corral_status status = borrow(agent, &c);
    if (status != CORRAL_OK) return status;
    status = corral_policy_act(
        c->policy, 1, observation, NULL,
        &(corral_policy_output){.action = c->words, .env_action = out_action, .logits = c->logits});
    give_back(agent, c);
    return status;
}

size_t corral_agent_observation_bytes(const corral_agent *agent)
{
    return corral_policy_observation_bytes(corral_policy_get_config(agent->policy));
}

size_t corral_agent_action_bytes(const corral_agent *agent)
{
    return corral_policy_action_bytes(corral_policy_get_config(agent->policy));
}

void corral_agent_destroy(corral_agent *agent)
{
    if (agent == NULL) return;
    while (agent->unused != NULL) {
        copy *c = agent->unused;
        agent->unused = c->next;
        copy_destroy(c);
    }
    corral_policy_destroy(agent->policy);
    pthread_mutex_destroy(&agent->lock);
    free(agent);
}
