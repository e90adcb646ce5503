// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// corral-env-host: plays one environment for another process. There is nothing here for people to call.
#include "isolate.h"

#include "../rules.h"

#include "corral/envs/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct guest {
    const corral_env_type *type;
    corral_rules rules;
    isolate_layout at;
    char *memory;
    corral_env_rows action[ISOLATE_LEAVES], observation[ISOLATE_LEAVES];
} guest;

static isolate_head *head_of(const guest *g)
{
    return (isolate_head *)(void *)g->memory;
}

static void say(const guest *g, const char *sentence)
{
    snprintf(head_of(g)->sentence, sizeof head_of(g)->sentence, "%s", sentence);
}

/// When whoever started this ends, killed or not, the kernel closes its end and kills us, even in an endless
/// loop.
static bool hang_on_lifeline(void)
{
    const int flags = fcntl(ISOLATE_LIFELINE, F_GETFL);
    return flags >= 0 && fcntl(ISOLATE_LIFELINE, F_SETSIG, SIGKILL) == 0 &&
           fcntl(ISOLATE_LIFELINE, F_SETOWN, getpid()) == 0 &&
           fcntl(ISOLATE_LIFELINE, F_SETFL, flags | O_ASYNC) == 0;
}

static bool map_memory(guest *g)
{
    struct stat info;
    if (fstat(ISOLATE_MEMORY, &info) != 0 || (size_t)info.st_size < sizeof(isolate_head)) return false;
    void *memory = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, ISOLATE_MEMORY, 0);
    if (memory == MAP_FAILED) return false;
    g->memory = memory;
    return true;
}

static bool open_environment(guest *g, const char *name)
{
    if (corral_env_find(name, &g->type) != CORRAL_OK) {
        say(g, corral_last_error());
        return false;
    }
    g->at = isolate_lay_out(g->type);
    if (g->at.size != head_of(g)->size) {
        say(g, "its library is another one than before");
        return false;
    }
    const corral_env_spaces *spaces = &g->type->spaces;
    for (uint32_t k = 0; k < spaces->action_count; k++)
        g->action[k] = (corral_env_rows){g->memory + g->at.action[k], corral_space_bytes(&spaces->action[k])};
    for (uint32_t k = 0; k < spaces->observation_count; k++)
        g->observation[k] =
            (corral_env_rows){g->memory + g->at.observation[k], corral_space_bytes(&spaces->observation[k])};
    corral_env_host_take_error();
    const double *values = (const double *)(const void *)(g->memory + g->at.values);
    if (corral_rules_create(&g->rules, g->type, corral_env_host_default(), 1, values) == 0) return true;
    say(g, corral_env_host_take_error());
    return false;
}

// --- what is asked

static bool play(guest *g, bool reset)
{
    isolate_head *head = head_of(g);
    uint8_t failed = 0;
    head->reward = 0;
    head->terminated = head->truncated = 0;
    const corral_env_step io = {.size = sizeof io,
                                .action = reset ? NULL : g->action,
                                .observation = g->observation,
                                .reward = &head->reward,
                                .terminated = &head->terminated,
                                .truncated = &head->truncated,
                                .failed = &failed};
    const int32_t result =
        reset ? corral_rules_reset(&g->rules, NULL, &head->seed, &io) : corral_rules_step(&g->rules, &io);
    return result == 0 && !failed;
}

/// Images are copied, since pointers mean nothing to the other side; there they are offsets, plus one.
static bool draw(guest *g)
{
    const corral_env_render *render = corral_env_extension(g->type, CORRAL_ENV_RENDER);
    corral_draw *items = (corral_draw *)(void *)(g->memory + g->at.items);
    uint32_t index;
    const void *handle = corral_rules_handle(&g->rules, 0, &index);
    const uint32_t count = render->draw(handle, index, items, ISOLATE_ITEMS);
    head_of(g)->item_count = count;
    size_t used = 0;
    for (uint32_t i = 0; i < count && i < ISOLATE_ITEMS; i++) {
        if (items[i].kind != CORRAL_DRAW_IMAGE || items[i].image == NULL) continue;
        const size_t bytes = (size_t)items[i].image_width * items[i].image_height * 3;
        if (bytes > ISOLATE_IMAGE_BYTES - used) return false;
        memcpy(g->memory + g->at.images + used, items[i].image, bytes);
        items[i].image = (const uint8_t *)(uintptr_t)(used + 1);
        used += bytes;
    }
    return true;
}

static bool answer(guest *g, char message)
{
    uint32_t index;
    void *handle = corral_rules_handle(&g->rules, 0, &index);
    const corral_env_state *state = corral_env_extension(g->type, CORRAL_ENV_STATE);
    const corral_env_action_mask *mask = corral_env_extension(g->type, CORRAL_ENV_ACTION_MASK);
    const corral_env_info *info = corral_env_extension(g->type, CORRAL_ENV_INFO);
    switch (message) {
    case ISOLATE_RESET:
        return play(g, true);
    case ISOLATE_STEP:
        return play(g, false);
    case ISOLATE_SAVE:
        if (state != NULL) state->save(handle, index, g->memory + g->at.state);
        return state != NULL;
    case ISOLATE_LOAD:
        return state != NULL && state->load(handle, index, g->memory + g->at.state) == 0;
    case ISOLATE_DRAW:
        return corral_env_extension(g->type, CORRAL_ENV_RENDER) != NULL && draw(g);
    case ISOLATE_MASK:
        if (mask != NULL) mask->mask(handle, index, (uint8_t *)g->memory + g->at.allowed);
        return mask != NULL;
    case ISOLATE_INFO:
        if (info != NULL) info->info(handle, index, (double *)(void *)(g->memory + g->at.info));
        return info != NULL;
    default:
        return false;
    }
}

// --- the channel

static bool tell(char message)
{
    ssize_t sent;
    do
        sent = write(ISOLATE_CHANNEL, &message, 1);
    while (sent < 0 && errno == EINTR);
    return sent == 1;
}

static bool hear(char *out_message)
{
    ssize_t got;
    do
        got = read(ISOLATE_CHANNEL, out_message, 1);
    while (got < 0 && errno == EINTR);
    return got == 1;
}

int main(int argc, char **argv)
{
    guest g = {0};
    if (argc != 2 || !hang_on_lifeline() || !map_memory(&g)) {
        fputs("corral-env-host: started by corral alone\n", stderr);
        return 2;
    }
    if (!open_environment(&g, argv[1])) {
        tell(ISOLATE_FAILED);
        return 1;
    }
    bool ok = tell(ISOLATE_DONE);
    for (char message; ok && hear(&message);) {
        corral_env_host_take_error();
        const bool done = answer(&g, message);
        if (!done) say(&g, corral_env_host_take_error());
        ok = tell(done ? ISOLATE_DONE : ISOLATE_FAILED);
    }
    corral_rules_destroy(&g.rules);
    return 0;
}
