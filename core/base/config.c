// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Reading settings from YAML.
///
/// libyaml turns the text into events; this file walks them and hands each value to config_value.c. A map
/// inside a map makes a dotted name, and a dotted key in the file means the same: `ppo: {epochs: 4}` and
/// `ppo.epochs: 4`. Every name that occurs is remembered, so that the second one is refused.
///
/// What a configuration does not need is refused rather than guessed at: anchors and aliases (and with them
/// texts that expand without end), tags, several documents, deep nesting.
#include "corral/base/config.h"

#include "config_value.h"

#include "corral/base/file.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { TEXT_LIMIT = 1 << 20, DEPTH_LIMIT = 16, NAME_SIZE = 256 };

typedef struct walk {
    yaml_parser_t parser;
    const corral_field *fields;
    void *config;
    const char *name; // the file's, or NULL for the value of one key: then messages name no line
    const char *key;  // that key, or NULL for a file
    char **seen;      // full names that have occurred
    size_t seen_count, seen_capacity;
} walk;

double corral_schedule_at(const corral_schedule *schedule, double progress)
{
    if (!(progress > 0)) return schedule->from;
    if (progress >= 1) return schedule->to;
    return schedule->from + (schedule->to - schedule->from) * progress;
}

// Puts "train.yaml:7: " before the current sentence.
static corral_status at_line(const walk *w, const yaml_mark_t *mark, corral_status status)
{
    if (w->name == NULL) return status;
    return corral_fail_within(status, "%s:%zu", w->name, mark->line + 1);
}

// The same for faults of the text itself, whose sentence does not name a key yet.
static corral_status in_text(const walk *w, const yaml_mark_t *mark, corral_status status)
{
    return w->key != NULL ? corral_fail_within(status, "%s", w->key) : at_line(w, mark, status);
}

static corral_status yaml_failed(const walk *w)
{
    const yaml_parser_t *parser = &w->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to read YAML");
    const corral_status status = corral_fail(CORRAL_ERROR_INVALID, "not valid YAML: %s",
                                             parser->problem != NULL ? parser->problem : "cannot be read");
    return in_text(w, &parser->problem_mark, status);
}

static corral_status refuse_anchor_or_tag(const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "anchors are not supported: write the value out");
    if (tag != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "tags are not supported: write the value alone");
    return CORRAL_OK;
}

static corral_status refuse_extras(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return corral_fail(CORRAL_ERROR_INVALID, "aliases are not supported: write the value out");
    case YAML_SCALAR_EVENT:
        return refuse_anchor_or_tag(event->data.scalar.anchor, event->data.scalar.tag);
    case YAML_SEQUENCE_START_EVENT:
        return refuse_anchor_or_tag(event->data.sequence_start.anchor, event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return refuse_anchor_or_tag(event->data.mapping_start.anchor, event->data.mapping_start.tag);
    default:
        return CORRAL_OK;
    }
}

// On success the caller deletes the event.
static corral_status next_event(walk *w, yaml_event_t *out_event)
{
    if (!yaml_parser_parse(&w->parser, out_event)) return yaml_failed(w);
    corral_status status = refuse_extras(out_event);
    if (status == CORRAL_OK) return CORRAL_OK;
    status = in_text(w, &out_event->start_mark, status);
    yaml_event_delete(out_event);
    return status;
}

static corral_scalar scalar_of(const yaml_event_t *event)
{
    return (corral_scalar){.text = (const char *)event->data.scalar.value,
                           .length = event->data.scalar.length,
                           .plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE};
}

// --- names

static bool is_below(const char *name, const char *section)
{
    const size_t length = strlen(section);
    return strncmp(name, section, length) == 0 && name[length] == '.';
}

static const corral_field *find_field(const walk *w, const char *name)
{
    for (const corral_field *field = w->fields; field->name != NULL; field++)
        if (strcmp(field->name, name) == 0) return field;
    return NULL;
}

// The field of free keys that `name` lies below: "env.params" for "env.params.gravity".
static const corral_field *find_pairs_above(const walk *w, const char *name)
{
    for (const corral_field *field = w->fields; field->name != NULL; field++)
        if (field->type == CORRAL_FIELD_PAIRS && is_below(name, field->name)) return field;
    return NULL;
}

static bool is_section(const walk *w, const char *name)
{
    for (const corral_field *field = w->fields; field->name != NULL; field++)
        if (is_below(field->name, name)) return true;
    return false;
}

static bool has_seen_below(const walk *w, const char *name)
{
    for (size_t i = 0; i < w->seen_count; i++)
        if (is_below(w->seen[i], name)) return true;
    return false;
}

static corral_status remember_name(walk *w, const char *name)
{
    for (size_t i = 0; i < w->seen_count; i++)
        if (strcmp(w->seen[i], name) == 0)
            return corral_fail(CORRAL_ERROR_INVALID, "the key \"%s\" is there twice", name);
    if (w->seen_count == w->seen_capacity) {
        const size_t capacity = 2 * w->seen_capacity + 16;
        char **seen = realloc(w->seen, capacity * sizeof *seen);
        if (seen == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to read the configuration");
        w->seen = seen;
        w->seen_capacity = capacity;
    }
    char *copy = strdup(name);
    if (copy == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to read the configuration");
    w->seen[w->seen_count++] = copy;
    return CORRAL_OK;
}

// The length of the first `parts` dotted parts of a name, or of all of it when it has fewer.
static size_t prefix_length(const char *name, size_t parts)
{
    size_t length = 0;
    for (; name[length] != '\0'; length++)
        if (name[length] == '.' && --parts == 0) break;
    return length;
}

// Besides the keys, the sections that have as many parts as the word are candidates: "pppo" means "ppo".
static corral_status unknown_key(const walk *w, const char *name)
{
    size_t count = 0, parts = 1;
    while (w->fields[count].name != NULL)
        count++;
    for (const char *c = name; *c != '\0'; c++)
        parts += *c == '.';

    const char **names = calloc(2 * count + 1, sizeof *names);
    char(*sections)[NAME_SIZE] = calloc(count + 1, sizeof *sections);
    const char *nearest = NULL;
    if (names != NULL && sections != NULL) {
        for (size_t i = 0; i < count; i++) {
            const char *field_name = w->fields[i].name;
            names[i] = field_name;
            snprintf(sections[i], NAME_SIZE, "%.*s", (int)prefix_length(field_name, parts), field_name);
            names[count + i] = sections[i];
        }
        nearest = corral_nearest(name, names, 2 * count);
    }
    const corral_status status =
        nearest != NULL
            ? corral_fail(CORRAL_ERROR_INVALID, "unknown key \"%s\"; did you mean \"%s\"?", name, nearest)
            : corral_fail(CORRAL_ERROR_INVALID, "unknown key \"%s\"", name);
    free(names);
    free(sections);
    return status;
}

// "ppo" and "epochs" make "ppo.epochs".
static corral_status join_name(const char *section, const corral_scalar *key, char out_name[NAME_SIZE])
{
    if (key->length == 0) return corral_fail(CORRAL_ERROR_INVALID, "an empty key");
    if (!corral_text_is_one_line(key->text, key->length))
        return corral_fail(CORRAL_ERROR_INVALID, "a key holds a line break or a control character");
    const int length =
        snprintf(out_name, NAME_SIZE, "%s%s%s", section, section[0] != '\0' ? "." : "", key->text);
    if (length >= NAME_SIZE)
        return corral_fail(CORRAL_ERROR_INVALID, "the key \"%.40s...\" is longer than any known one",
                           key->text);
    return CORRAL_OK;
}

// --- values

// For a list or a map where a single value was expected, or where no key is.
static corral_status refuse_shape(const walk *w, const char *name, const char *shape)
{
    const corral_field *field = find_field(w, name);
    if (field == NULL && find_pairs_above(w, name) == NULL) return unknown_key(w, name);
    return corral_fail(CORRAL_ERROR_INVALID, "%s: expects %s, not %s", name,
                       field != NULL ? corral_config_expects(field) : "one value", shape);
}

static corral_status take_scalar(walk *w, const char *name, const corral_scalar *scalar)
{
    const corral_field *field = find_field(w, name);
    if (field != NULL) return corral_config_set_scalar(field, w->config, scalar);

    const corral_field *pairs = find_pairs_above(w, name);
    if (pairs != NULL)
        return corral_config_set_pair(pairs, w->config, name + strlen(pairs->name) + 1, scalar);

    if (!is_section(w, name)) return unknown_key(w, name);
    if (corral_scalar_is_null(scalar)) return CORRAL_OK; // a section whose keys are all commented out
    return corral_fail(CORRAL_ERROR_INVALID, "%s: holds other keys and has no value of its own", name);
}

// The items of a list of sizes, of a list of words, or (`argument`) of a word's arguments, up to the list's
// end.
static corral_status take_items(walk *w, const corral_field *field, bool argument);

// `resize: [42, 42]` in a list of words: a map with one key, whose value is an argument or a list of them.
static corral_status take_word_map(walk *w, const corral_field *field)
{
    yaml_event_t event;
    corral_status status = next_event(w, &event);
    if (status != CORRAL_OK) return status;
    const yaml_mark_t mark = event.start_mark;
    corral_scalar scalar;
    if (event.type == YAML_SCALAR_EVENT)
        scalar = scalar_of(&event), status = corral_config_append_word(field, w->config, &scalar, false);
    else
        status =
            corral_fail(CORRAL_ERROR_INVALID, "%s: expects %s", field->name, corral_config_expects(field));
    yaml_event_delete(&event);

    if (status == CORRAL_OK) status = next_event(w, &event);
    if (status != CORRAL_OK) return at_line(w, &mark, status);
    if (event.type == YAML_SCALAR_EVENT)
        scalar = scalar_of(&event), status = corral_config_append_word(field, w->config, &scalar, true);
    else if (event.type == YAML_SEQUENCE_START_EVENT)
        status = take_items(w, field, true);
    else
        status =
            corral_fail(CORRAL_ERROR_INVALID, "%s: expects %s", field->name, corral_config_expects(field));
    yaml_event_delete(&event);

    if (status == CORRAL_OK) status = next_event(w, &event);
    if (status != CORRAL_OK) return at_line(w, &mark, status);
    if (event.type != YAML_MAPPING_END_EVENT)
        status = corral_fail(CORRAL_ERROR_INVALID, "%s: one word in each item of the list", field->name);
    yaml_event_delete(&event);
    return at_line(w, &mark, status);
}

static corral_status take_list(walk *w, const char *name, const yaml_mark_t *mark)
{
    const corral_field *field = find_field(w, name);
    if (field == NULL || (field->type != CORRAL_FIELD_SIZES && field->type != CORRAL_FIELD_WORDS))
        return at_line(w, mark, refuse_shape(w, name, "a list"));

    if (field->type == CORRAL_FIELD_SIZES)
        *(corral_sizes *)corral_config_place(field, w->config) = (corral_sizes){0};
    else
        *(corral_words *)corral_config_place(field, w->config) = (corral_words){0};
    return take_items(w, field, false);
}

static corral_status take_items(walk *w, const corral_field *field, bool argument)
{
    for (;;) {
        yaml_event_t event;
        corral_status status = next_event(w, &event);
        if (status != CORRAL_OK) return status;
        const bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
        if (event.type == YAML_SCALAR_EVENT) {
            const corral_scalar scalar = scalar_of(&event);
            status = field->type == CORRAL_FIELD_SIZES
                         ? corral_config_append_size(field, w->config, &scalar)
                         : corral_config_append_word(field, w->config, &scalar, argument);
        } else if (event.type == YAML_MAPPING_START_EVENT && field->type == CORRAL_FIELD_WORDS && !argument) {
            status = take_word_map(w, field);
        } else if (!is_end) {
            status = corral_fail(CORRAL_ERROR_INVALID, "%s: expects %s", field->name,
                                 corral_config_expects(field));
        }
        status = at_line(w, &event.start_mark, status);
        yaml_event_delete(&event);
        if (is_end || status != CORRAL_OK) return status;
    }
}

static corral_status take_map(walk *w, const char *section, unsigned depth);

// A map is either a section of keys or the value of a field of free keys.
static corral_status open_map(walk *w, const char *name)
{
    const corral_field *field = find_field(w, name);
    if (field == NULL && is_section(w, name)) return CORRAL_OK;
    if (field == NULL || field->type != CORRAL_FIELD_PAIRS) return refuse_shape(w, name, "a map");
    // The map replaces what was there before this text, but not `env.params.gravity: 9` of the same text.
    if (!has_seen_below(w, name)) *(corral_pairs *)corral_config_place(field, w->config) = (corral_pairs){0};
    return CORRAL_OK;
}

// Takes the value that begins with `event`, and with it all events up to its end.
static corral_status take_value(walk *w, const char *name, const yaml_event_t *event, unsigned depth)
{
    corral_status status = CORRAL_OK;
    switch (event->type) {
    case YAML_SCALAR_EVENT: {
        const corral_scalar scalar = scalar_of(event);
        return at_line(w, &event->start_mark, take_scalar(w, name, &scalar));
    }
    case YAML_SEQUENCE_START_EVENT:
        return take_list(w, name, &event->start_mark);
    default:
        status = at_line(w, &event->start_mark, open_map(w, name));
        return status == CORRAL_OK ? take_map(w, name, depth + 1) : status;
    }
}

static corral_status take_key(walk *w, const char *section, const yaml_event_t *event,
                              char out_name[NAME_SIZE])
{
    if (event->type != YAML_SCALAR_EVENT)
        return corral_fail(CORRAL_ERROR_INVALID, "a key must be one word, not a list or a map");
    const corral_scalar key = scalar_of(event);
    corral_status status = join_name(section, &key, out_name);
    if (status == CORRAL_OK) status = remember_name(w, out_name);
    // Here rather than at the value, so that the message has the line of the key.
    if (status == CORRAL_OK && find_field(w, out_name) == NULL && find_pairs_above(w, out_name) == NULL &&
        !is_section(w, out_name))
        status = unknown_key(w, out_name);
    return status;
}

static corral_status take_map(walk *w, const char *section, unsigned depth)
{
    if (depth > DEPTH_LIMIT)
        return in_text(w, &w->parser.mark,
                       corral_fail(CORRAL_ERROR_INVALID, "nested deeper than %d maps", DEPTH_LIMIT));
    for (;;) {
        yaml_event_t event;
        corral_status status = next_event(w, &event);
        if (status != CORRAL_OK) return status;
        const bool is_end = event.type == YAML_MAPPING_END_EVENT;
        char name[NAME_SIZE] = "";
        if (!is_end) status = at_line(w, &event.start_mark, take_key(w, section, &event, name));
        yaml_event_delete(&event);
        if (is_end || status != CORRAL_OK) return status;

        status = next_event(w, &event);
        if (status != CORRAL_OK) return status;
        status = take_value(w, name, &event, depth);
        yaml_event_delete(&event);
        if (status != CORRAL_OK) return status;
    }
}

// --- documents

// The content of a document: the value of one key, or a map of all of them.
static corral_status take_root(walk *w, const yaml_event_t *event)
{
    if (w->key != NULL) return take_value(w, w->key, event, 1);
    if (event->type == YAML_MAPPING_START_EVENT) return take_map(w, "", 1);
    if (event->type == YAML_SCALAR_EVENT) {
        const corral_scalar scalar = scalar_of(event);
        if (corral_scalar_is_null(&scalar)) return CORRAL_OK;
    }
    return at_line(w, &event->start_mark,
                   corral_fail(CORRAL_ERROR_INVALID, "expects lines of the form \"key: value\""));
}

static corral_status take_nothing(walk *w)
{
    const corral_scalar nothing = {.text = "", .plain = true};
    return w->key != NULL ? take_scalar(w, w->key, &nothing) : CORRAL_OK;
}

// Stream start, then at most one document: its start, its content, its end.
static corral_status take_stream(walk *w)
{
    bool had_document = false;
    for (;;) {
        yaml_event_t event;
        corral_status status = next_event(w, &event);
        if (status != CORRAL_OK) return status;
        const bool is_end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT) {
            if (had_document)
                status = in_text(w, &event.start_mark,
                                 corral_fail(CORRAL_ERROR_INVALID, "a second document begins; one is read"));
            had_document = true;
        } else if (!is_end && event.type != YAML_STREAM_START_EVENT &&
                   event.type != YAML_DOCUMENT_END_EVENT) {
            status = take_root(w, &event);
        }
        yaml_event_delete(&event);
        if (status != CORRAL_OK) return status;
        if (is_end) return had_document ? CORRAL_OK : take_nothing(w);
    }
}

static corral_status take_text(const corral_field *fields, void *config, const char *name, const char *key,
                               const char *text, size_t size)
{
    walk w = {.fields = fields, .config = config, .name = name, .key = key};
    if (!yaml_parser_initialize(&w.parser))
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to read YAML");
    yaml_parser_set_input_string(&w.parser, (const unsigned char *)text, size);
    const corral_status status = take_stream(&w);
    yaml_parser_delete(&w.parser);
    for (size_t i = 0; i < w.seen_count; i++)
        free(w.seen[i]);
    free(w.seen);
    return status;
}

corral_status corral_config_parse(const corral_field *fields, void *config, const char *name,
                                  const char *text, size_t size)
{
    if (size > TEXT_LIMIT)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: %zu bytes; a configuration has at most %d", name, size,
                           TEXT_LIMIT);
    return take_text(fields, config, name, NULL, text, size);
}

corral_status corral_config_read(const corral_field *fields, void *config, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    corral_status status = corral_file_read(path, TEXT_LIMIT, &text, &size);
    if (status != CORRAL_OK) return status;
    status = corral_config_parse(fields, config, path, text, size);
    free(text);
    return status;
}

corral_status corral_config_set_value(const corral_field *fields, void *config, const char *key,
                                      const char *value)
{
    const size_t size = strlen(value);
    if (!corral_text_is_one_line(key, strlen(key)))
        return corral_fail(CORRAL_ERROR_INVALID, "a key holds a line break, a control character or no UTF-8");
    if (size > TEXT_LIMIT) return corral_fail(CORRAL_ERROR_INVALID, "%s: the value has %zu bytes", key, size);
    return take_text(fields, config, NULL, key, value, size);
}

corral_status corral_config_set(const corral_field *fields, void *config, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    const size_t length = equals != NULL ? (size_t)(equals - assignment) : 0;
    char key[NAME_SIZE];
    if (length == 0 || length >= sizeof key)
        return corral_fail(CORRAL_ERROR_INVALID, "\"%.80s\": settings are written key=value", assignment);
    memcpy(key, assignment, length);
    key[length] = '\0';
    return corral_fail_within(corral_config_set_value(fields, config, key, equals + 1), "%.80s", assignment);
}
