// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/config.h"

#include "temporary.h"

#include <locale.h>

typedef struct settings {
    corral_schedule learning_rate;
    int64_t epochs, seed;
    double clip, limit;
    char name[CORRAL_TEXT_SIZE];
    corral_sizes hidden;
    corral_pairs params;
    corral_words stack;
    int32_t algorithm;
    bool normalise;
} settings;

static const char *const algorithms[] = {"ppo", "dqn", NULL};

static const corral_field fields[] = {
    {"algorithm", CORRAL_FIELD_CHOICE, offsetof(settings, algorithm), 0, 0, algorithms, "what trains"},
    {"seed", CORRAL_FIELD_INT, offsetof(settings, seed), 0, 0, NULL, "of all chance in the run"},
    {"ppo.learning_rate", CORRAL_FIELD_SCHEDULE, offsetof(settings, learning_rate), 0, 1, NULL, "step size"},
    {"ppo.epochs", CORRAL_FIELD_INT, offsetof(settings, epochs), 1, 1000, NULL, "passes over each batch"},
    {"run.name", CORRAL_FIELD_TEXT, offsetof(settings, name), 0, 0, NULL, "what the folder is called"},
    {"ppo.clip", CORRAL_FIELD_FLOAT, offsetof(settings, clip), 0, 1, NULL, "how far a ratio may go"},
    {"ppo.network.hidden", CORRAL_FIELD_SIZES, offsetof(settings, hidden), 1, 4096, NULL, "widths of layers"},
    {"env.normalise", CORRAL_FIELD_BOOL, offsetof(settings, normalise), 0, 0, NULL, "observations"},
    {"env.params", CORRAL_FIELD_PAIRS, offsetof(settings, params), 0, 0, NULL, "of the environment"},
    {"env.stack", CORRAL_FIELD_WORDS, offsetof(settings, stack), 0, 0, NULL, "around the environment"},
    {"ppo.limit", CORRAL_FIELD_FLOAT, offsetof(settings, limit), 0, INFINITY, NULL, "of the gradient's norm"},
    {NULL},
};

static settings defaults(void)
{
    return (settings){.learning_rate = {3e-4, 3e-4},
                      .epochs = 10,
                      .clip = 0.2,
                      .limit = 0.5,
                      .hidden = {.count = 2, .value = {64, 64}}};
}

static corral_status parse(settings *s, const char *text)
{
    *s = defaults();
    return corral_config_parse(fields, s, "train.yaml", text, strlen(text));
}

static void a_file_fills_the_struct(void)
{
    settings s;
    TEST_OK(parse(&s, "# a run\n"
                      "algorithm: dqn\n"
                      "ppo:\n"
                      "  epochs: 4\n"
                      "  learning_rate: linear(1e-3, 1e-5)\n"
                      "  network: {hidden: [32, 16, 8]}\n"
                      "ppo.clip: 1e-1\n"
                      "run: {name: \"first: one\"}\n"
                      "env:\n"
                      "  normalise: true\n"
                      "  params: {gravity: 9.8, name: moon}\n"));
    CU_ASSERT_EQUAL(s.algorithm, 1);
    CU_ASSERT_EQUAL(s.epochs, 4);
    CU_ASSERT_TRUE(s.learning_rate.from == 1e-3 && s.learning_rate.to == 1e-5);
    CU_ASSERT_EQUAL(s.hidden.count, 3);
    CU_ASSERT_EQUAL(s.hidden.value[2], 8);
    CU_ASSERT_TRUE(s.clip == 0.1);
    CU_ASSERT_STRING_EQUAL(s.name, "first: one");
    CU_ASSERT_TRUE(s.normalise);
    CU_ASSERT_EQUAL(s.params.count, 2);
    CU_ASSERT_STRING_EQUAL(s.params.pair[0].name, "gravity");
    CU_ASSERT_STRING_EQUAL(s.params.pair[0].value, "9.8");
    CU_ASSERT_TRUE(s.limit == 0.5); // untouched
}

static void words_keep_their_order_and_arguments(void)
{
    static const char *const texts[] = {
        "env.stack: [grey, resize: [42, 84], \"zoom=2\", skip: 4]\n",
        "env:\n  stack:\n  - grey\n  - resize:\n    - 42\n    - 84\n  - zoom: 2\n  - skip=4\n",
    };
    static const char *const words[] = {"grey", "resize=42:84", "zoom=2", "skip=4"};
    for (int t = 0; t < 2; t++) {
        settings s, again = defaults();
        char *text;
        const char *names[1];
        TEST_OK(parse(&s, texts[t]));
        CU_ASSERT_EQUAL_FATAL(s.stack.count, 4);
        for (int i = 0; i < 4; i++)
            CU_ASSERT_STRING_EQUAL(s.stack.word[i], words[i]);
        TEST_OK(corral_config_write(fields, &s, &text));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "stack: [grey, \"resize=42:84\", \"zoom=2\", \"skip=4\"]"));
        TEST_OK(corral_config_parse(fields, &again, "again", text, strlen(text)));
        CU_ASSERT_EQUAL(corral_config_diff(fields, &s, &again, names, 1), 0);
        free(text);
        TEST_OK(corral_config_set(fields, &again, "env.stack=zoom=3"));
        CU_ASSERT_EQUAL(corral_config_diff(fields, &s, &again, names, 1), 1);
        CU_ASSERT_TRUE(again.stack.count == 1 && strcmp(again.stack.word[0], "zoom=3") == 0);
        TEST_OK(corral_config_set(fields, &again, "env.stack=[]"));
        CU_ASSERT_EQUAL(again.stack.count, 0);
    }
}

static void an_empty_file_changes_nothing(void)
{
    static const char *const texts[] = {"", "# only a comment\n", "---\n", "ppo:\n", "ppo: {}\nenv: ~\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        settings s;
        const settings before = defaults();
        const char *names[4];
        TEST_OK(parse(&s, texts[i]));
        CU_ASSERT_EQUAL(corral_config_diff(fields, &s, &before, names, 4), 0);
    }
}

static void numbers_follow_the_core_schema(void)
{
    static const struct {
        const char *word;
        double clip;
    } good[] = {{"ppo.clip=1e-4", 1e-4}, {"ppo.clip=.5", 0.5},  {"ppo.clip=+0.25", 0.25},
                {"ppo.clip=1.", 1.0},    {"ppo.clip=0x1", 1.0}, {"ppo.clip=5E-1", 0.5}};
    settings s = defaults();
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        TEST_OK(corral_config_set(fields, &s, good[i].word));
        CU_ASSERT_TRUE(s.clip == good[i].clip);
    }
    static const char *const bad[] = {"ppo.clip=0_1", "ppo.clip=1e",  "ppo.clip=abc",  "ppo.clip=\"0.5\"",
                                      "ppo.clip=",    "ppo.clip=1 0", "ppo.clip=true", "ppo.clip=0x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        TEST_FAILS(corral_config_set(fields, &s, bad[i]), CORRAL_ERROR_INVALID,
                   "ppo.clip: expects a number, not \"");
    TEST_FAILS(corral_config_set(fields, &s, "ppo.clip=.nan"), CORRAL_ERROR_INVALID,
               "ppo.clip: .nan is not finite");
    TEST_FAILS(corral_config_set(fields, &s, "ppo.clip=1e999"), CORRAL_ERROR_INVALID, "not finite");
    TEST_OK(corral_config_set(fields, &s, "ppo.limit=.inf")); // its range reaches there
    CU_ASSERT_TRUE(isinf(s.limit));
    TEST_FAILS(corral_config_set(fields, &s, "ppo.limit=.nan"), CORRAL_ERROR_INVALID, "not finite");
}

static void whole_numbers_are_exact(void)
{
    settings s = defaults();
    TEST_OK(corral_config_set(fields, &s, "seed=9223372036854775807"));
    CU_ASSERT_EQUAL(s.seed, INT64_MAX);
    TEST_OK(corral_config_set(fields, &s, "seed=-9223372036854775808"));
    CU_ASSERT_EQUAL(s.seed, INT64_MIN);
    TEST_OK(corral_config_set(fields, &s, "seed=1e5"));
    CU_ASSERT_EQUAL(s.seed, 100000);
    TEST_OK(corral_config_set(fields, &s, "seed=0o17"));
    CU_ASSERT_EQUAL(s.seed, 15);
    TEST_FAILS(corral_config_set(fields, &s, "seed=9223372036854775808"), CORRAL_ERROR_INVALID,
               "seed: 9223372036854775808 is too large");
    TEST_FAILS(corral_config_set(fields, &s, "seed=1e18"), CORRAL_ERROR_INVALID, "too large");
    TEST_FAILS(corral_config_set(fields, &s, "seed=1.5"), CORRAL_ERROR_INVALID,
               "seed: expects a whole number, not \"1.5\"");
    TEST_FAILS(corral_config_set(fields, &s, "seed=1_000"), CORRAL_ERROR_INVALID, "expects a whole number");
    TEST_FAILS(corral_config_set(fields, &s, "ppo.epochs=0"), CORRAL_ERROR_INVALID,
               "ppo.epochs=0: ppo.epochs: 0 is below 1");
    TEST_FAILS(corral_config_set(fields, &s, "ppo.epochs=1001"), CORRAL_ERROR_INVALID, "1001 is above 1000");
}

static void only_true_and_false_are_flags(void)
{
    settings s = defaults();
    TEST_OK(corral_config_set(fields, &s, "env.normalise=true"));
    CU_ASSERT_TRUE(s.normalise);
    TEST_OK(corral_config_set(fields, &s, "env.normalise=false"));
    CU_ASSERT_FALSE(s.normalise);
    static const char *const bad[] = {"env.normalise=no", "env.normalise=1", "env.normalise=on",
                                      "env.normalise='true'"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        TEST_FAILS(corral_config_set(fields, &s, bad[i]), CORRAL_ERROR_INVALID, "expects true or false");
    TEST_OK(corral_config_set(fields, &s, "run.name=no"));
    CU_ASSERT_STRING_EQUAL(s.name, "no");
}

static void faults_name_line_and_remedy(void)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"\n\nppo:\n  epochs: 3\n  learning_rte: 1\n",
         "train.yaml:5: unknown key \"ppo.learning_rte\"; did you mean \"ppo.learning_rate\"?"},
        {"pppo: {epochs: 1}\n", "train.yaml:1: unknown key \"pppo\"; did you mean \"ppo\"?"},
        {"epochs: 1\n", "train.yaml:1: unknown key \"epochs\"; did you mean \"ppo.epochs\"?"},
        {"zebra: 1\n", "train.yaml:1: unknown key \"zebra\""},
        {"a: 1\nppo.epochs: 0\n", "train.yaml:1: unknown key \"a\""},
        {"seed: 1\nppo:\n  epochs: 0\n", "train.yaml:3: ppo.epochs: 0 is below 1"},
        {"seed: 1\nseed: 2\n", "train.yaml:2: the key \"seed\" is there twice"},
        {"ppo: {epochs: 2}\nppo.epochs: 3\n", "train.yaml:2: the key \"ppo.epochs\" is there twice"},
        {"ppo: {epochs: 2}\nppo: {clip: 0.1}\n", "train.yaml:2: the key \"ppo\" is there twice"},
        {"env.params: {g: 1}\nenv.params.g: 2\n", "train.yaml:2: the key \"env.params.g\" is there twice"},
        {"ppo: 3\n", "train.yaml:1: ppo: holds other keys"},
        {"seed: [1]\n", "train.yaml:1: seed: expects a whole number, not a list"},
        {"seed: {a: 1}\n", "train.yaml:1: seed: expects a whole number, not a map"},
        {"env.params: {a: {b: 1}}\n", "train.yaml:1: env.params.a: expects one value, not a map"},
        {"env.params: {a: [1]}\n", "train.yaml:1: env.params.a: expects one value, not a list"},
        {"ppo.network.hidden: [1, [2]]\n",
         "train.yaml:1: ppo.network.hidden: expects a list of whole numbers"},
        {"env.stack: {a: 1}\n", "train.yaml:1: env.stack: expects a list such as [grey, frame_stack: 4]"},
        {"env.stack: [[a]]\n", "train.yaml:1: env.stack: expects a list such as"},
        {"env.stack: [a: [1, [2]]]\n", "train.yaml:1: env.stack: expects a list such as"},
        {"env.stack: [a: {b: 1}]\n", "train.yaml:1: env.stack: expects a list such as"},
        {"env.stack: [{a: 1, b: 2}]\n", "train.yaml:1: env.stack: one word in each item"},
        {"env.stack: ['']\n", "train.yaml:1: env.stack: an empty word"},
        {"env.stack: [a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a]\n", "env.stack: more than 16 words"},
        {"env.stack: [a: [1111111111, 2222222222, 3333333333, 4444444444, 5555555555, 6666666666]]\n",
         "is longer than 63 bytes"},
        {"ppo.network.hidden: [1, 0]\n", "ppo.network.hidden: 0 is below 1"},
        {"ppo.network.hidden: [1,2,3,4,5,6,7,8,9]\n", "ppo.network.hidden: more than 8 numbers"},
        {"algorithm: pop\n", "train.yaml:1: algorithm: unknown value \"pop\"; did you mean \"ppo\"?"},
        {"algorithm: sarsa\n", "algorithm: unknown value \"sarsa\"; use one of ppo, dqn"},
        {"seed: &a 1\n", "train.yaml:1: anchors are not supported"},
        {"seed: *a\n", "train.yaml:1: aliases are not supported"},
        {"seed: !!int 1\n", "train.yaml:1: tags are not supported"},
        {"seed: 1\n---\nseed: 2\n", "train.yaml:2: a second document begins"},
        {"- 1\n- 2\n", "train.yaml:1: expects lines of the form"},
        {"? [a]\n: 1\n", "train.yaml:1: a key must be one word"},
        {"seed: 1\nrun.name: \"x\n", "train.yaml:3: not valid YAML: found unexpected end of stream"},
        {"run.name: \"a\\nb\"\n", "run.name: the value holds a line break"},
        {"\"se\\0ed\": 1\n", "a key holds a line break or a control character"},
        {"ppo.learning_rate: linear(1\n",
         "ppo.learning_rate: expects a number, linear(FROM) or linear(FROM, TO)"},
        {"ppo.learning_rate: linear(2, 0)\n", "ppo.learning_rate: 2 is above 1"},
        {"ppo.learning_rate: linear(0.1, 0, 0)\n", "ppo.learning_rate: expects"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        settings s;
        TEST_FAILS(parse(&s, cases[i].text), CORRAL_ERROR_INVALID, cases[i].sentence);
    }
}

static void what_is_too_large_is_refused(void)
{
    settings s = defaults();
    char *text = malloc((1 << 20) + 2);
    memset(text, '#', (1 << 20) + 1);
    TEST_OK(corral_config_parse(fields, &s, "big.yaml", text, 1 << 20));
    TEST_FAILS(corral_config_parse(fields, &s, "big.yaml", text, (1 << 20) + 1), CORRAL_ERROR_INVALID,
               "big.yaml: 1048577 bytes");

    size_t length = 0;
    for (int i = 0; i < 40; i++)
        length += (size_t)sprintf(text + length, "{ppo: ");
    TEST_FAILS(corral_config_parse(fields, &s, "deep.yaml", text, length), CORRAL_ERROR_INVALID,
               "deep.yaml:1: unknown key");
    memset(text, '[', 100000);
    CU_ASSERT_EQUAL(corral_config_parse(fields, &s, "deep.yaml", text, 100000), CORRAL_ERROR_INVALID);
    length = (size_t)sprintf(text, "run.name: ");
    memset(text + length, 'x', CORRAL_TEXT_SIZE);
    TEST_FAILS(corral_config_parse(fields, &s, "long.yaml", text, length + CORRAL_TEXT_SIZE),
               CORRAL_ERROR_INVALID, "at most 255 are kept");
    free(text);
}

static void pairs_are_replaced_or_added(void)
{
    settings s;
    TEST_OK(parse(&s, "env.params: {gravity: 9.8}\n"));
    TEST_OK(corral_config_set(fields, &s, "env.params.length=0.5"));
    TEST_OK(corral_config_set(fields, &s, "env.params.gravity=1.6"));
    CU_ASSERT_EQUAL(s.params.count, 2);
    CU_ASSERT_STRING_EQUAL(s.params.pair[0].value, "1.6");
    TEST_OK(corral_config_set(fields, &s, "env.params={mass: 2}"));
    CU_ASSERT_EQUAL(s.params.count, 1);
    CU_ASSERT_STRING_EQUAL(s.params.pair[0].name, "mass");
    TEST_OK(corral_config_set(fields, &s, "env={params: {}, normalise: true}"));
    CU_ASSERT_EQUAL(s.params.count, 0);
    CU_ASSERT_TRUE(s.normalise);
    for (int i = 0; i < CORRAL_PAIRS_MAX; i++) {
        char word[64];
        snprintf(word, sizeof word, "env.params.p%d=1", i);
        TEST_OK(corral_config_set(fields, &s, word));
    }
    TEST_FAILS(corral_config_set(fields, &s, "env.params.more=1"), CORRAL_ERROR_INVALID,
               "env.params: more than 16");
    TEST_OK(corral_config_set(fields, &s, "env.params.p3=2"));
}

static void words_are_key_equals_value(void)
{
    settings s = defaults();
    TEST_OK(corral_config_set(fields, &s, "ppo.network.hidden=[128,64]"));
    CU_ASSERT_EQUAL(s.hidden.value[0], 128);
    TEST_OK(corral_config_set(fields, &s, "ppo.network.hidden=32"));
    CU_ASSERT_EQUAL(s.hidden.count, 1);
    TEST_OK(corral_config_set(fields, &s, "ppo.network.hidden=[]"));
    CU_ASSERT_EQUAL(s.hidden.count, 0);
    TEST_OK(corral_config_set(fields, &s, "ppo.learning_rate=linear(0.01)"));
    CU_ASSERT_TRUE(s.learning_rate.from == 0.01 && s.learning_rate.to == 0);
    TEST_OK(corral_config_set(fields, &s, "run.name=a=b"));
    CU_ASSERT_STRING_EQUAL(s.name, "a=b");
    TEST_OK(corral_config_set(fields, &s, "run.name="));
    CU_ASSERT_STRING_EQUAL(s.name, "");
    TEST_FAILS(corral_config_set(fields, &s, "ppo.epochs"), CORRAL_ERROR_INVALID,
               "\"ppo.epochs\": settings are written key=value");
    TEST_FAILS(corral_config_set(fields, &s, "=3"), CORRAL_ERROR_INVALID, "settings are written key=value");
    TEST_FAILS(corral_config_set(fields, &s, "ppo.epoch=3"), CORRAL_ERROR_INVALID,
               "ppo.epoch=3: unknown key \"ppo.epoch\"; did you mean \"ppo.epochs\"?");
    TEST_FAILS(corral_config_set(fields, &s, "env.params.a\x1D=1"), CORRAL_ERROR_INVALID, "a key holds");
    TEST_FAILS(corral_config_set(fields, &s, "env.params.a\xC3=1"), CORRAL_ERROR_INVALID, "a key holds");
    TEST_FAILS(corral_config_set(fields, &s, "run.name=@"), CORRAL_ERROR_INVALID, "run.name: not valid YAML");
    TEST_FAILS(corral_config_set(fields, &s, "run.name=*a"), CORRAL_ERROR_INVALID, "aliases");
    TEST_OK(corral_config_set_value(fields, &s, "ppo.epochs", "7"));
    CU_ASSERT_EQUAL(s.epochs, 7);
}

static const corral_field *field_of(const char *name)
{
    const corral_field *field = fields;
    while (strcmp(field->name, name) != 0)
        field++;
    return field;
}

static void check_round_trip(const settings *s)
{
    char *text = NULL;
    TEST_OK(corral_config_write(fields, s, &text));
    settings again = {.epochs = -1};
    const char *names[8];
    TEST_OK(corral_config_parse(fields, &again, "again", text, strlen(text)));
    CU_ASSERT_EQUAL(corral_config_diff(fields, s, &again, names, 8), 0);
    free(text);

    again = (settings){.epochs = -1};
    for (const corral_field *field = fields; field->name != NULL; field++) {
        char *value = corral_config_value(field, s);
        TEST_OK(corral_config_set_value(fields, &again, field->name, value));
        free(value);
    }
    CU_ASSERT_EQUAL(corral_config_diff(fields, s, &again, names, 8), 0);
}

static void what_is_written_reads_back_equal(void)
{
    static const char *const texts[] = {"",
                                        "plain",
                                        "no",
                                        "null",
                                        "~",
                                        "true",
                                        "1e5",
                                        ".inf",
                                        "...",
                                        "---",
                                        "- x",
                                        "a: b",
                                        "#c",
                                        " lead",
                                        "end ",
                                        "\"q\"",
                                        "\\",
                                        "'",
                                        "{a}",
                                        "[1]",
                                        "*a",
                                        "&a",
                                        "!t",
                                        "%d",
                                        "@x",
                                        "`x",
                                        "a #b",
                                        "x:",
                                        "?",
                                        "| x",
                                        "../up",
                                        "h\xC3\xA4uslich",
                                        "\xF0\x9F\x8E\xB2"};
    static const double numbers[] = {0.1, 1.0 / 3.0, 3e-4, 5e-324, 0x1p-30, 1, 0};
    settings s = defaults();
    s.seed = INT64_MIN;
    s.algorithm = 1;
    s.limit = INFINITY;
    s.params.count = 2;
    memcpy(s.params.pair[0].name, "a b", 4);
    memcpy(s.params.pair[1].name, "gravity", 8);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        snprintf(s.name, sizeof s.name, "%s", texts[i]);
        snprintf(s.params.pair[0].value, sizeof s.params.pair[0].value, "%s", texts[i]);
        s.clip = numbers[i % 7];
        s.learning_rate = (corral_schedule){numbers[i % 7], numbers[i / 7]};
        s.hidden.count = (uint32_t)i % 9;
        for (uint32_t j = 0; j < s.hidden.count; j++)
            s.hidden.value[j] = j + 1;
        check_round_trip(&s);
    }
    char *text = NULL;
    static const char *const unwritable[] = {"two\nlines",   "\x7F",     "\xC2\x85",     "\xE2\x80\xA8",
                                             "\xEF\xBB\xBF", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                             "\xC3",         "\xFF"};
    for (size_t i = 0; i < sizeof unwritable / sizeof unwritable[0]; i++) {
        snprintf(s.name, sizeof s.name, "%s", unwritable[i]);
        TEST_FAILS(corral_config_write(fields, &s, &text), CORRAL_ERROR_INVALID,
                   "run.name: the value holds a line break");
    }
}

static void values_look_as_people_write_them(void)
{
    settings s = defaults();
    static const struct {
        const char *name, *text;
    } cases[] = {{"ppo.learning_rate", "0.0003"},
                 {"ppo.network.hidden", "[64, 64]"},
                 {"ppo.clip", "0.2"},
                 {"algorithm", "ppo"},
                 {"env.normalise", "false"},
                 {"env.params", "{}"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *value = corral_config_value(field_of(cases[i].name), &s);
        CU_ASSERT_STRING_EQUAL(value, cases[i].text);
        free(value);
    }
    char *text = NULL;
    TEST_OK(corral_config_write(fields, &s, &text));
    CU_ASSERT_PTR_EQUAL(
        strstr(text, "algorithm: ppo\nseed: 0\nppo:\n  learning_rate: 0.0003\n  epochs: 10\n  clip: 0.2\n"
                     "  network:\n    hidden: [64, 64]\n  limit: 0.5\nrun:\n  name: \"\"\nenv:\n"),
        text);
    free(text);
}

static void the_locale_does_not_matter(void)
{
    // Where a locale with a decimal comma is installed, it must change nothing; elsewhere this shows little.
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    for (size_t i = 0; i < 4 && setlocale(LC_NUMERIC, locales[i]) == NULL; i++) {
    }
    settings s = defaults();
    TEST_OK(corral_config_set(fields, &s, "ppo.clip=0.25"));
    char *value = corral_config_value(field_of("ppo.clip"), &s);
    setlocale(LC_NUMERIC, "C");
    CU_ASSERT_TRUE(s.clip == 0.25);
    CU_ASSERT_STRING_EQUAL(value, "0.25");
    free(value);
}

static void help_has_a_line_for_each_key(void)
{
    const settings s = defaults();
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    corral_config_help(fields, &s, out);
    fclose(out);
    int lines = 0;
    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    CU_ASSERT_EQUAL(lines, 11);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "passes over each batch (1 to 1000)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "what trains (ppo, dqn)"));
    free(text);
}

static void differences_are_named(void)
{
    settings a = defaults(), b = defaults();
    b.epochs = 11;
    b.hidden.value[1] = 65;
    b.learning_rate.to = 0;
    const char *names[2] = {NULL, NULL};
    CU_ASSERT_EQUAL(corral_config_diff(fields, &a, &b, names, 2), 3);
    CU_ASSERT_STRING_EQUAL(names[0], "ppo.learning_rate");
    CU_ASSERT_STRING_EQUAL(names[1], "ppo.epochs");
}

static void schedules_run_from_end_to_end(void)
{
    const corral_schedule fall = {1e-3, 1e-4}, flat = {0.1, 0.1};
    CU_ASSERT_TRUE(corral_schedule_at(&fall, 0) == 1e-3);
    CU_ASSERT_TRUE(corral_schedule_at(&fall, 1) == 1e-4);
    CU_ASSERT_TRUE(corral_schedule_at(&fall, 2) == 1e-4);
    CU_ASSERT_TRUE(corral_schedule_at(&fall, -1) == 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(corral_schedule_at(&fall, 0.5), 5.5e-4, 1e-12);
    CU_ASSERT_TRUE(corral_schedule_at(&flat, 0.3) == 0.1);
}

static void the_nearest_word_is_found(void)
{
    static const char *const names[] = {"train", "evaluate", "record", "ppo.epochs"};
    CU_ASSERT_STRING_EQUAL(corral_nearest("trian", names, 4), "train");
    CU_ASSERT_STRING_EQUAL(corral_nearest("evalute", names, 4), "evaluate");
    CU_ASSERT_STRING_EQUAL(corral_nearest("epochs", names, 4), "ppo.epochs");
    CU_ASSERT_PTR_NULL(corral_nearest("xyzzy", names, 4));
    CU_ASSERT_PTR_NULL(corral_nearest("", names, 4));
    char longest[300];
    memset(longest, 't', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    CU_ASSERT_PTR_NULL(corral_nearest(longest, names, 4));
}

static void files_are_read_by_path(void)
{
    temporary_begin();
    const char *path = temporary_path("train.yaml");
    settings s = defaults();
    TEST_OK(corral_file_write(path, "ppo.epochs: 3\n", 14));
    TEST_OK(corral_config_read(fields, &s, path));
    CU_ASSERT_EQUAL(s.epochs, 3);
    TEST_OK(corral_file_write(path, "x: 3\n", 5));
    TEST_FAILS(corral_config_read(fields, &s, path), CORRAL_ERROR_INVALID, "train.yaml:1: unknown key \"x\"");
    TEST_FAILS(corral_config_read(fields, &s, temporary_path("none.yaml")), CORRAL_ERROR_NOT_FOUND,
               "none.yaml");
    temporary_end();
}

int main(void)
{
    return test_run(
        "config",
        (test_case[]){{"a file fills the struct", a_file_fills_the_struct},
                      {"words keep their order and arguments", words_keep_their_order_and_arguments},
                      {"an empty file changes nothing", an_empty_file_changes_nothing},
                      {"numbers follow the core schema", numbers_follow_the_core_schema},
                      {"whole numbers are exact", whole_numbers_are_exact},
                      {"only true and false are flags", only_true_and_false_are_flags},
                      {"faults name line and remedy", faults_name_line_and_remedy},
                      {"what is too large is refused", what_is_too_large_is_refused},
                      {"pairs are replaced or added", pairs_are_replaced_or_added},
                      {"words are key=value", words_are_key_equals_value},
                      {"what is written reads back equal", what_is_written_reads_back_equal},
                      {"values look as people write them", values_look_as_people_write_them},
                      {"the locale does not matter", the_locale_does_not_matter},
                      {"help has a line for each key", help_has_a_line_for_each_key},
                      {"differences are named", differences_are_named},
                      {"schedules run from end to end", schedules_run_from_end_to_end},
                      {"the nearest word is found", the_nearest_word_is_found},
                      {"files are read by path", files_are_read_by_path},
                      {NULL, NULL}});
}
