// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Watching a run: what is sent arrives as it was, what watchers see is what workers did, and the run is the
// same whether or not anybody watches.

#include "live/live.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/rllib/callbacks.h"

#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

// --- packets

enum { ITEMS = 40, IMAGE_WIDTH = 60, IMAGE_HEIGHT = 50 };

static uint64_t draws;

static uint32_t chance(uint32_t below)
{
    return (uint32_t)(corral_stream_u64(11, draws++) % below);
}

static uint8_t images[2][IMAGE_WIDTH * IMAGE_HEIGHT * 3];

static corral_draw any_item(uint32_t i)
{
    corral_draw item = {.kind = 1 + chance(4), .color = chance(1 << 30), .size = (float)chance(100)};
    item.point_count = 1 + chance(CORRAL_DRAW_POINTS);
    for (uint32_t k = 0; k < item.point_count; k++)
        item.point[k][0] = (float)chance(600), item.point[k][1] = (float)chance(400);
    if (item.kind == CORRAL_DRAW_TEXT) snprintf(item.text, sizeof item.text, "step %u", chance(1000));
    if (i != 3 && i != 7) return item;
    uint8_t *rgb = images[i == 7];
    for (uint32_t k = chance(50); k < sizeof images[0]; k += 1 + chance(200))
        rgb[k] = (uint8_t)chance(256);
    item.kind = CORRAL_DRAW_IMAGE;
    item.text[0] = '\0';
    item.image = rgb;
    item.image_width = IMAGE_WIDTH;
    item.image_height = IMAGE_HEIGHT;
    return item;
}

static bool same_item(const corral_draw *a, const corral_draw *b)
{
    bool same = a->kind == b->kind && a->color == b->color && a->size == b->size &&
                a->point_count == b->point_count && strcmp(a->text, b->text) == 0 &&
                memcmp(a->point, b->point, a->point_count * sizeof a->point[0]) == 0;
    if (same && a->kind == CORRAL_DRAW_IMAGE)
        same = b->image_width == IMAGE_WIDTH && b->image_height == IMAGE_HEIGHT &&
               memcmp(a->image, b->image, sizeof images[0]) == 0;
    return same;
}

static void frames_arrive_as_they_were(void)
{
    static uint8_t packet[LIVE_PACKET_MAX];
    corral_draw items[ITEMS];
    live_list sent, got;
    TEST_OK(live_list_init(&sent));
    TEST_OK(live_list_init(&got));
    size_t least = SIZE_MAX;
    for (uint32_t t = 0; t < 300; t++) {
        for (uint32_t i = 0; i < ITEMS; i++)
            if (t == 0 || chance(5) == 0) items[i] = any_item(i);
        live_frame frame = {.cell = 1, .step = t, .whole = t % 50 == 0}, read;
        const uint32_t count = 10 + t % 30;
        const size_t size = live_frame_write(&frame, items, count, &sent, packet);
        CU_ASSERT_EQUAL(live_kind_of(packet, size), LIVE_FRAME);
        least = size < least ? size : least;
        TEST_OK(live_frame_read(packet, size, &read, &got));
        CU_ASSERT_EQUAL(read.step, t);
        CU_ASSERT_EQUAL_FATAL(got.count, count);
        for (uint32_t i = 0; i < count; i++)
            CU_ASSERT_TRUE_FATAL(same_item(&items[i], &got.items[i]));
    }
    CU_ASSERT_TRUE(least < 3000); // not the 18,000 bytes of two images
    live_list_finish(&sent);
    live_list_finish(&got);
}

static void a_large_image_is_reduced(void)
{
    static uint8_t packet[LIVE_PACKET_MAX], rgb[1000 * 800 * 3];
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i / 3000 / 100 * 20); // bands
    const corral_draw item = {
        .kind = CORRAL_DRAW_IMAGE, .image = rgb, .image_width = 1000, .image_height = 800};
    live_list sent, got;
    TEST_OK(live_list_init(&sent));
    TEST_OK(live_list_init(&got));
    live_frame frame = {.whole = 1}, read;
    TEST_OK(live_frame_read(packet, live_frame_write(&frame, &item, 1, &sent, packet), &read, &got));
    CU_ASSERT_EQUAL(got.items[0].image_width, 333);
    CU_ASSERT_EQUAL(got.items[0].image_height, 266);
    CU_ASSERT_EQUAL(got.items[0].image[(200 * 333 + 7) * 3], 120);
    for (size_t i = 0; i < sizeof rgb; i++) // noise has no room, and is left out
        rgb[i] = (uint8_t)chance(256);
    frame.whole = 0;
    TEST_OK(live_frame_read(packet, live_frame_write(&frame, &item, 1, &sent, packet), &read, &got));
    CU_ASSERT_EQUAL(got.count, 0);
    live_list_finish(&sent);
    live_list_finish(&got);
}

static void damaged_packets_do_no_harm(void)
{
    static uint8_t packet[LIVE_PACKET_MAX], damaged[LIVE_PACKET_MAX];
    corral_draw items[ITEMS];
    live_list sent, got;
    TEST_OK(live_list_init(&sent));
    TEST_OK(live_list_init(&got));
    for (uint32_t i = 0; i < ITEMS; i++)
        items[i] = any_item(i);
    live_frame frame = {.whole = 1}, read;
    const size_t size = live_frame_write(&frame, items, ITEMS, &sent, packet);
    uint32_t refused = 0;
    for (uint32_t t = 0; t < 3000; t++) {
        memcpy(damaged, packet, size);
        const uint32_t first = sizeof(live_head), rest = (uint32_t)size - first;
        for (uint32_t k = 1 + chance(4); k > 0; k--) // in the items' heads, or anywhere
            damaged[first + chance(chance(2) ? 400 : rest)] = (uint8_t)chance(256);
        refused += live_frame_read(damaged, size, &read, &got) != CORRAL_OK;
        CU_ASSERT_EQUAL(live_kind_of(packet, chance((uint32_t)size)), 0); // cut off
    }
    CU_ASSERT_TRUE(refused > 100);
    live_list_finish(&sent);
    live_list_finish(&got);
}

// --- a run

enum { EPISODES_MAX = 100000 };

static struct {
    uint32_t environment, length;
    uint64_t number;
    double episode_return;
} * episodes;
static size_t episode_count;

static void on_episode_end(void *context, corral_trainer *trainer, const corral_train_episode *e)
{
    (void)context, (void)trainer;
    if (episode_count == EPISODES_MAX) return;
    episodes[episode_count].environment = e->environment;
    episodes[episode_count].length = e->length;
    episodes[episode_count].number = e->number;
    episodes[episode_count++].episode_return = e->episode_return;
}

static bool was_played(const live_frame *f)
{
    for (size_t i = 0; i < episode_count; i++)
        if (episodes[i].environment == f->environment && episodes[i].number == f->episode)
            return episodes[i].length == f->step && episodes[i].episode_return == f->episode_return;
    return false;
}

typedef struct watcher {
    int socket;
    uint32_t hellos, points, frames, ends, wrong;
    bool seen[4]; // an end, of each environment
    live_end end;
} watcher;

static void look(watcher *w)
{
    static uint8_t packet[LIVE_PACKET_MAX];
    for (;;) {
        const ssize_t size = recv(w->socket, packet, sizeof packet, MSG_DONTWAIT);
        if (size <= 0) return;
        const live_kind kind = live_kind_of(packet, (size_t)size);
        CU_ASSERT_NOT_EQUAL(kind, 0);
        w->hellos += kind == LIVE_HELLO;
        w->points += kind == LIVE_POINT;
        w->frames += kind == LIVE_FRAME;
        w->ends += kind == LIVE_END;
        if (kind == LIVE_END) memcpy(&w->end, packet, sizeof w->end);
        live_frame frame;
        memcpy(&frame, packet, sizeof frame);
        if (kind != LIVE_FRAME || !frame.ended) continue;
        w->wrong += !was_played(&frame);
        w->seen[frame.environment & 3] = true;
    }
}

static corral_train_config small_run(void)
{
    corral_train_config config = corral_train_config_default();
    snprintf(config.env, sizeof config.env, "CartPole-v1");
    config.envs = 4;
    config.workers = 0;
    config.threads = 1;
    config.stop.steps = 1000000;
    config.evaluation.episodes = 1;
    return config;
}

static void what_is_seen_was_played(void)
{
    char folder[] = "/tmp/corral-live-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    char *run = corral_format("%s/%0*d", folder, 100, 7); // a long name: a socket's address could not hold it
    episodes = calloc(EPISODES_MAX, sizeof *episodes);
    const corral_train_callbacks callbacks = {.on_episode_end = on_episode_end};
    const corral_train_config config = small_run();
    corral_trainer *trainer;
    TEST_OK(corral_trainer_create(&config, &(corral_train_options){.out = run, .callbacks = &callbacks},
                                  &trainer));
    watcher w = {0}, deaf = {0};
    TEST_OK(live_connect(run, &w.socket));
    TEST_OK(live_connect(run, &deaf.socket)); // it never reads, and holds nobody up
    corral_train_report report;
    const int64_t limit = corral_now_ns() + 60 * CORRAL_SECOND;
    while (!(w.seen[0] && w.seen[1] && w.seen[2] && w.seen[3]) && corral_now_ns() < limit) {
        TEST_OK(corral_trainer_step(trainer, &report));
        look(&w);
        corral_sleep_ns(5 * CORRAL_MILLISECOND);
    }
    CU_ASSERT_TRUE(w.seen[0] && w.seen[1] && w.seen[2] && w.seen[3]);
    CU_ASSERT_EQUAL(w.hellos, 1);
    CU_ASSERT_TRUE(w.points > 0);
    CU_ASSERT_TRUE(w.frames > 20);
    corral_trainer_interrupt(trainer);
    corral_train_summary summary;
    TEST_OK(corral_trainer_finish(trainer, &summary));
    corral_trainer_destroy(trainer);
    look(&w);
    CU_ASSERT_EQUAL(w.wrong, 0);
    CU_ASSERT_EQUAL(w.ends, 1);
    CU_ASSERT_STRING_EQUAL(w.end.reason, "interrupted");
    close(w.socket);
    close(deaf.socket);
    TEST_FAILS(live_connect(run, &w.socket), CORRAL_ERROR_NOT_FOUND, "is not being trained now");
    TEST_FAILS(live_connect("/no/such/run", &w.socket), CORRAL_ERROR_NOT_FOUND, "/no/such/run");
    TEST_OK(corral_folder_remove(folder));
    free(episodes);
    episode_count = 0;
    free(run);
}

/// The packed policy after 20 iterations.
static void train_twenty(bool watched, unsigned char **out_bytes, size_t *out_size)
{
    char folder[] = "/tmp/corral-live-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    char *run = corral_format("%s/run", folder);
    const corral_train_config config = small_run();
    corral_trainer *trainer;
    TEST_OK(corral_trainer_create(&config, &(corral_train_options){.out = run}, &trainer));
    watcher w = {0};
    if (watched) TEST_OK(live_connect(run, &w.socket));
    corral_train_report report;
    for (int i = 0; i < 20; i++) {
        TEST_OK(corral_trainer_step(trainer, &report));
        if (watched) look(&w);
    }
    *out_size = corral_policy_bytes(corral_trainer_policy(trainer));
    *out_bytes = malloc(*out_size);
    corral_policy_pack(corral_trainer_policy(trainer), *out_bytes);
    corral_trainer_destroy(trainer);
    if (watched) close(w.socket);
    TEST_OK(corral_folder_remove(folder));
    free(run);
}

static void a_watched_run_is_the_same(void)
{
    unsigned char *with, *without;
    size_t size, other;
    train_twenty(true, &with, &size);
    train_twenty(false, &without, &other);
    CU_ASSERT_EQUAL_FATAL(size, other);
    CU_ASSERT_EQUAL(memcmp(with, without, size), 0);
    free(with);
    free(without);
}

int main(void)
{
    return test_run("live", (test_case[]){{"frames arrive as they were", frames_arrive_as_they_were},
                                          {"a large image is reduced", a_large_image_is_reduced},
                                          {"damaged packets do no harm", damaged_packets_do_no_harm},
                                          {"what is seen was played", what_is_seen_was_played},
                                          {"a watched run is the same", a_watched_run_is_the_same},
                                          {NULL, NULL}});
}
