// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "runtime_rig.h"

#include "corral/actors/hub.h"
#include "corral/actors/message.h"
#include "corral/base/clock.h"
#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct rig {
    corral_spawner *spawner;
    corral_hub *hub;
    pthread_t thread;
    pthread_mutex_t lock; // of the hub
    int wake;
    atomic_bool stopping;
} rig;

static rig the_rig = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void turn(rig *r, bool exits)
{
    pthread_mutex_lock(&r->lock);
    corral_spawner_exit exit_info;
    while (exits && corral_spawner_next_exit(r->spawner, &exit_info) == CORRAL_OK)
        corral_hub_exited(r->hub, &exit_info);
    corral_hub_turn(r->hub);
    pthread_mutex_unlock(&r->lock);
}

static void *run(void *context)
{
    rig *r = context;
    while (!atomic_load(&r->stopping)) {
        struct pollfd wanted[] = {{.fd = corral_hub_fd(r->hub), .events = POLLIN},
                                  {.fd = corral_spawner_fd(r->spawner), .events = POLLIN},
                                  {.fd = r->wake, .events = POLLIN}};
        pthread_mutex_lock(&r->lock);
        const int64_t next = corral_hub_next_wake_ns(r->hub), now = corral_now_ns();
        pthread_mutex_unlock(&r->lock);
        const int64_t left = next <= now ? 0 : (next - now) / CORRAL_MILLISECOND + 1;
        poll(wanted, 3, left < 1000 ? (int)left : 1000);
        turn(r, wanted[1].revents != 0);
    }
    return NULL;
}

void runtime_rig_begin(void)
{
    TEST_OK(corral_spawner_start(&the_rig.spawner));
}

void runtime_rig_end(void)
{
    corral_spawner_stop(the_rig.spawner);
    the_rig.spawner = NULL;
}

static corral_client *attach(const corral_client_config *config)
{
    int sockets[2];
    corral_client *client = NULL;
    TEST_OK(corral_message_pair(sockets));
    pthread_mutex_lock(&the_rig.lock);
    const corral_status status = corral_hub_add_driver(the_rig.hub, sockets[1]);
    pthread_mutex_unlock(&the_rig.lock);
    TEST_OK(status);
    TEST_OK(corral_client_attach(sockets[0], config, &client));
    return client;
}

corral_client *runtime_open(const corral_client_config *config)
{
    corral_client_config with = *config;
    with.library = &runtime_library;
    corral_client *client = NULL;
    if (config->local) {
        TEST_OK(corral_client_open_local(&with, &client));
        return client;
    }
    runtime_rig_begin();
    const corral_hub_config hub = {
        .spawner = the_rig.spawner,
        .cpus = config->cpus,
        .gpus = config->gpus,
        .resources = config->resources,
        .resource_count = config->resource_count,
        .store_bytes = config->store_bytes > 0 ? config->store_bytes : (size_t)64 << 20,
    };
    TEST_OK(corral_hub_create(&hub, &the_rig.hub));
    the_rig.wake = eventfd(0, EFD_CLOEXEC);
    atomic_store(&the_rig.stopping, false);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&the_rig.thread, NULL, run, &the_rig), 0);
    return attach(&with);
}

corral_client *runtime_open_second(const corral_client_config *config)
{
    corral_client_config with = *config;
    with.library = &runtime_library;
    return attach(&with);
}

void runtime_close(corral_client *client)
{
    corral_client_close(client);
    if (the_rig.hub == NULL) return;
    atomic_store(&the_rig.stopping, true);
    eventfd_write(the_rig.wake, 1);
    pthread_join(the_rig.thread, NULL);
    corral_hub_destroy(the_rig.hub);
    the_rig.hub = NULL;
    close(the_rig.wake);
    runtime_rig_end();
}

char *runtime_report(void)
{
    pthread_mutex_lock(&the_rig.lock);
    char *text = corral_hub_report(the_rig.hub);
    pthread_mutex_unlock(&the_rig.lock);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    return text;
}

corral_ref *runtime_number(corral_client *client, double value)
{
    corral_ref *ref = NULL;
    TEST_OK(corral_put(client, &value, sizeof value, &ref));
    return ref;
}

corral_ref *runtime_submit(corral_client *client, const char *function, const corral_argument *arguments,
                           size_t count)
{
    corral_ref *ref = NULL;
    TEST_OK(corral_task_submit(client, function, arguments, count, NULL, &ref));
    return ref;
}

double runtime_get_number(corral_ref *ref)
{
    corral_bytes bytes = {0};
    double value = 0;
    TEST_OK(corral_get(ref, 20 * CORRAL_SECOND, &bytes));
    CU_ASSERT_EQUAL_FATAL(bytes.size, sizeof value);
    memcpy(&value, bytes.data, sizeof value);
    return value;
}
