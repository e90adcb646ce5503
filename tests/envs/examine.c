// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The examiner: everything that ships passes, and each environment of plugins/broken.c fails the rule that it
// breaks with a sentence that says where and what.

#include "corral/envs/examine.h"
#include "corral/envs/registry.h"

#include "test.h"

#include <stdbool.h>

static corral_examine_report report;

static corral_examine_config config_for(const char *name)
{
    const corral_env_type *type = NULL;
    TEST_OK(corral_env_find(name, &type));
    corral_examine_config config = corral_examine_config_default(type);
    config.leak_steps = 20000; // the leaks of the tests are larger than what they look for
    return config;
}

static void print_failures(const corral_env_type *type)
{
    for (uint32_t i = 0; i < report.count; i++)
        if (report.result[i].verdict == CORRAL_VERDICT_FAILED)
            fprintf(stderr, "%s: %s: %s\n", type->id, report.result[i].rule, report.result[i].sentence);
}

static void passes(const corral_examine_config *config)
{
    TEST_OK(corral_env_examine(config, &report));
    print_failures(config->type);
    CU_ASSERT_EQUAL(report.failed, 0);
    CU_ASSERT_EQUAL(report.count, 15);
    CU_ASSERT_TRUE(report.steps_per_second > 0);
}

static void what_ships_passes(void)
{
    CU_ASSERT_EQUAL(corral_env_builtin_count(), 16);
    for (size_t i = 0; i < corral_env_builtin_count(); i++) {
        const corral_examine_config config = config_for(corral_env_builtin_at(i)->id);
        passes(&config);
    }
}

static void sound_plug_ins_pass(void)
{
    static const char *const names[] = {"broken.so:None-v0", "broken.so:NoneBatch-v0", "leaves.so"};
    for (int i = 0; i < 3; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", PLUGIN_DIR, names[i]);
        const corral_examine_config config = config_for(path);
        passes(&config);
    }
}

static void variants_pass(void)
{
    static const struct {
        const char *id;
        double values[4];
    } variants[] = {{"Taxi-v4", {1, 1, 0.8, 0.9}}, {"Pendulum-v1", {9.81, 3, 1, 0}}, {"Acrobot-v1", {1}}};
    for (int i = 0; i < 3; i++) {
        corral_examine_config config = config_for(variants[i].id);
        config.param_values = variants[i].values;
        config.seed = 77;
        passes(&config);
    }
}

static void broken_ones_fail(void)
{
    static const struct {
        const char *id, *rule, *sentence;
    } broken[] = {
        {"NotANumber", "spaces", "step 5: observation, element 1 is nan"},
        {"OutOfRange", "spaces", "step 3: observation, element 0: 1.5 is outside [-1, 1]"},
        {"InfiniteReward", "spaces", "step 6: the reward is inf"},
        {"OddFlag", "spaces", "step 20: terminated is 3 (or was not written); it must be 0 or 1"},
        {"NoReward", "spaces", "step 1: the reward is "},
        {"NoObservation", "spaces", "step 4: observation, element 0 is "},
        {"BehindRow", "memory", "step 2: bytes behind its observation row were written"},
        {"BehindRewards", "memory", "step 1: bytes behind its rewards were written"},
        {"ChangesAction", "memory", "step 1: the step changed its action row"},
        {"BehindInstance", "memory", "of its instance was written; instance_size is"},
        {"WritesOthers", "memory", "a reset of others changed its observation row"},
        {"OwnChance", "same seed", "the observation differs when the same seeds are played again"},
        {"LeftOver", "same seed", "in an instance that has played other episodes before"},
        {"Position", "alone", "environment 7, seed "},
        {"Position", "alone", "the observation differs in a batch of one"},
        {"Shared", "taking turns", "when two batches take turns; is something kept outside of them?"},
        {"SharedScratch", "threads", "when four threads play at once; is something kept outside"},
        {"ResetsOthers", "reset anytime", "when environment 0 is reset in between"},
        {"SaveForgets", "state", "after save and load into another batch"},
        {"SaveTooMuch", "state", "save writes more than state_size ("},
        {"SaveGap", "state", "two saves of one state differ; does save leave bytes unwritten?"},
        {"LoadRefuses", "state", "load refuses what save gave: not today"},
        {"DrawMoves", "picture", "the observation differs when it is drawn in between"},
        {"DrawTooMuch", "picture", "draw writes more items than its limit of 3"},
        {"DrawNan", "picture", "step 0: point 0 of item 0 of the picture is not finite"},
        {"DrawKind", "picture", "item 0 of the picture is of unknown kind 9"},
        {"MaskEmpty", "action mask", "step 0: the mask allows no action"},
        {"MaskTooMuch", "action mask", "mask writes more than its 3 bytes"},
        {"InfoTooMuch", "info", "info writes more than its 2 numbers"},
        {"Crashes", "spaces", "step 12: it crashed (Segmentation fault) in step"},
        {"CrashesInReset", "spaces", "step 0: it crashed (Segmentation fault) in reset"},
        {"Hangs", "spaces", "step 7: it did not return for 0.3 seconds in step"},
        {"Exits", "spaces", "step 2: it ended the process (exit code 7) in step"},
        {"Prints", "quiet", "it prints; the first line is \"I walk\""},
        {"Fails", "spaces", "step 9: step failed: the left foot hurts"},
        {"FewOnly", "create", "a batch of 16 cannot be created: that is too many"},
        {"StepLeaks", "leaks", "step or reset leak"},
        {"NoFinish", "leaks", "destroy or finish leak"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/broken.so:%s-v0", PLUGIN_DIR, broken[i].id);
        corral_examine_config config = config_for(path);
        // Others may have to wait long for a turn on a busy machine.
        if (strcmp(broken[i].id, "Hangs") == 0) config.step_seconds = 0.3;
        TEST_OK(corral_env_examine(&config, &report));
        const corral_examine_result *result = NULL;
        for (uint32_t k = 0; k < report.count; k++)
            if (strcmp(report.result[k].rule, broken[i].rule) == 0) result = &report.result[k];
        CU_ASSERT_PTR_NOT_NULL_FATAL(result);
        if (result->verdict == CORRAL_VERDICT_SKIPPED) continue; // leaks, under a sanitizer
        const bool told =
            result->verdict == CORRAL_VERDICT_FAILED && strstr(result->sentence, broken[i].sentence) != NULL;
        if (!told) fprintf(stderr, "%s: %s: \"%s\"\n", broken[i].id, broken[i].rule, result->sentence);
        if (!told) print_failures(config.type);
        CU_ASSERT_TRUE(told);
        CU_ASSERT_TRUE(report.failed >= 1);
    }
}

/// The seed in a sentence is enough to find the place again.
static void says_the_same_again(void)
{
    const corral_examine_config config = config_for(PLUGIN_DIR "/broken.so:OutOfRange-v0");
    TEST_OK(corral_env_examine(&config, &report));
    const corral_examine_result first = report.result[1];
    TEST_OK(corral_env_examine(&config, &report));
    CU_ASSERT_STRING_EQUAL(report.result[1].rule, "spaces");
    CU_ASSERT_STRING_EQUAL(report.result[1].sentence, first.sentence);
}

int main(void)
{
    return test_run("examine", (test_case[]){{"what ships passes", what_ships_passes},
                                             {"sound plug-ins pass", sound_plug_ins_pass},
                                             {"variants pass", variants_pass},
                                             {"broken ones fail", broken_ones_fail},
                                             {"says the same again", says_the_same_again},
                                             {NULL, NULL}});
}
