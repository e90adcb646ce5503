// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Actors that die, hang and lie: seen within a second, with the place where they were, and nothing of them
/// is left.
#include "test.h"

#include "rig.h"

#include "corral/base/clock.h"

#include <signal.h>
#include <sys/wait.h>

enum { BLOCK = 4096 };

static test_rig rig;
static rig_actor actor;

static void start_and_lease(const char *what)
{
    const rig_actor_config config = {"crash", "", BLOCK, 2, 7};
    corral_peer_event event;
    TEST_OK(rig_start_actor(&rig, &config, &actor));
    TEST_OK(rig_next(actor.peer, 10 * CORRAL_SECOND, &event));
    CU_ASSERT_EQUAL_FATAL(event.kind, CORRAL_PEER_READY);
    TEST_OK(corral_peer_lease(actor.peer, 1, what, strlen(what)));
}

static corral_spawner_exit expect_exit(void)
{
    corral_spawner_exit ended = {0};
    TEST_OK(rig_await_exit(rig.spawner, 5 * CORRAL_SECOND, &ended));
    CU_ASSERT_EQUAL(ended.pid, actor.pid);
    return ended;
}

static void expect_event(corral_peer_event_kind kind, int64_t timeout_ns, corral_peer_event *out_event)
{
    TEST_OK(rig_next(actor.peer, timeout_ns, out_event));
    CU_ASSERT_EQUAL_FATAL(out_event->kind, kind);
}

static void expect_beacon(void)
{
    char text[256];
    corral_peer_beacon(actor.peer, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "stepping environments 0 to 3, step 17");
}

static void a_death_is_seen_within_a_second(void)
{
    static const char *const ways[] = {"segv", "abort", "exit", "pipe"};
    const char *sanitizer = getenv("CORRAL_SANITIZER"); // writes its report before the end
    const int64_t limit = sanitizer != NULL && sanitizer[0] != '\0' ? 20 * CORRAL_SECOND : CORRAL_SECOND;
    TEST_OK(rig_start(&rig));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        corral_peer_event event;
        start_and_lease(ways[i]);
        if (strcmp(ways[i], "pipe") == 0) { // a closed pipe somewhere is no reason to die
            expect_event(CORRAL_PEER_SEALED, CORRAL_SECOND, &event);
            TEST_OK(corral_peer_lease(actor.peer, 1, "abort", 5));
        }
        expect_event(CORRAL_PEER_LOST, limit, &event);
        expect_beacon();
        const int status = expect_exit().status;
        CU_ASSERT_EQUAL(WIFEXITED(status) && WEXITSTATUS(status) == 0, strcmp(ways[i], "exit") == 0);
        corral_peer_close(actor.peer);
    }
    rig_stop(&rig);
}

static void a_hanging_actor_is_killed(void)
{
    corral_peer_event event;
    TEST_OK(rig_start(&rig));
    start_and_lease("hang");
    CU_ASSERT_EQUAL(rig_next(actor.peer, 100 * CORRAL_MILLISECOND, &event), CORRAL_ERROR_TIMEOUT);
    expect_beacon();
    TEST_OK(corral_spawner_signal(rig.spawner, actor.pid, SIGKILL));
    expect_event(CORRAL_PEER_LOST, CORRAL_SECOND, &event);
    const int status = expect_exit().status;
    CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    TEST_OK(corral_spawner_signal(rig.spawner, actor.pid, SIGKILL)); // gone is fine
    corral_peer_close(actor.peer);
    rig_stop(&rig);
}

static void an_error_names_its_cause(void)
{
    corral_peer_event event;
    TEST_OK(rig_start(&rig));
    start_and_lease("error");
    expect_event(CORRAL_PEER_ERROR, CORRAL_SECOND, &event);
    CU_ASSERT_EQUAL(event.status, CORRAL_ERROR_ENVIRONMENT);
    CU_ASSERT_STRING_EQUAL((const char *)event.data, "maze: no way out at step 17");
    expect_event(CORRAL_PEER_LOST, CORRAL_SECOND, &event);
    CU_ASSERT_EQUAL(WEXITSTATUS(expect_exit().status), 1);
    corral_peer_close(actor.peer);

    start_and_lease("too much");
    expect_event(CORRAL_PEER_ERROR, CORRAL_SECOND, &event);
    CU_ASSERT_PTR_NOT_NULL(strstr(event.data, "filled 4097 bytes of a block of 4096"));
    corral_peer_close(actor.peer);
    rig_stop(&rig);
}

static void a_lie_on_the_socket_ends_the_actor(void)
{
    corral_peer_event event;
    TEST_OK(rig_start(&rig));
    start_and_lease("lie");
    expect_event(CORRAL_PEER_ERROR, CORRAL_SECOND, &event);
    CU_ASSERT_EQUAL(event.status, CORRAL_ERROR_CORRUPT);
    CU_ASSERT_PTR_NOT_NULL(strstr(event.data, "sealed 4097 bytes in a block of 4096"));
    expect_event(CORRAL_PEER_LOST, 0, &event);
    expect_exit(); // its socket has been shut
    corral_peer_close(actor.peer);
    rig_stop(&rig);
}

// The actor's descendants hold its socket, ignore TERM and have left its group. They are gone before the exit
// is told.
static void descendants_end_with_the_actor(void)
{
    corral_peer_event event;
    TEST_OK(rig_start(&rig));
    start_and_lease("family");
    expect_event(CORRAL_PEER_SEALED, CORRAL_SECOND, &event);
    TEST_OK(corral_spawner_signal(rig.spawner, actor.pid, SIGKILL));
    expect_exit();
    TEST_OK(corral_peer_receive(actor.peer, &event)); // all copies of its socket are closed: no waiting
    CU_ASSERT_EQUAL(event.kind, CORRAL_PEER_LOST);
    corral_peer_close(actor.peer);
    rig_stop(&rig);
}

int main(void)
{
    return test_run("crash",
                    (test_case[]){{"a death is seen within a second", a_death_is_seen_within_a_second},
                                  {"a hanging actor is killed", a_hanging_actor_is_killed},
                                  {"an error names its cause", an_error_names_its_cause},
                                  {"a lie on the socket ends the actor", a_lie_on_the_socket_ends_the_actor},
                                  {"descendants end with the actor", descendants_end_with_the_actor},
                                  {NULL, NULL}});
}
