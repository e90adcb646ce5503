// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "spec.h"

#include <yaml.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    spec *s;
    yaml_document_t document;
    char *error;
    size_t error_size;
} reader;

static bool fail(const reader *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->error, r->error_size, format, arguments);
    va_end(arguments);
    return false;
}

const double *spec_array(const mjData *data, spec_source source)
{
    return source == SPEC_QPOS ? data->qpos : source == SPEC_QVEL ? data->qvel : data->sensordata;
}

// --- scalars

static const char *text_of(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

static bool number_of(const reader *r, const char *key, const yaml_node_t *node, double low, double high,
                      double *out)
{
    const char *text = text_of(node);
    char *end;
    *out = strtod(text, &end);
    if (strcmp(text, ".inf") == 0 || strcmp(text, "-.inf") == 0)
        *out = text[0] == '-' ? -INFINITY : INFINITY;
    else if (end == text || *end != '\0')
        return fail(r, "%s: \"%s\" is not a number", key, text);
    return (*out >= low && *out <= high) || fail(r, "%s: %s is outside %g to %g", key, text, low, high);
}

// --- what values are meant

/// "qpos", "qvel[2]", or a sensor's name, with or without an index.
static bool values_of(const reader *r, const char *key, const char *text, spec_values *out)
{
    char name[SPEC_NAME];
    int index = -1, used = 0;
    const mjModel *m = r->s->model;
    if (sscanf(text, "%63[^[]%n", name, &used) != 1) return fail(r, "%s: a name is expected", key);
    if (text[used] != '\0' && (sscanf(text + used, "[%d]%n", &index, &used) != 1 || index < 0))
        return fail(r, "%s: \"%s\" is written NAME or NAME[INDEX]", key, text);
    if (strcmp(name, "qpos") == 0) {
        *out = (spec_values){SPEC_QPOS, 0, m->nq};
    } else if (strcmp(name, "qvel") == 0) {
        *out = (spec_values){SPEC_QVEL, 0, m->nv};
    } else {
        const int sensor = mj_name2id(m, mjOBJ_SENSOR, name);
        if (sensor < 0)
            return fail(r, "%s: the model has no sensor %s; it is qpos, qvel or a sensor's name", key, name);
        *out = (spec_values){SPEC_SENSOR, m->sensor_adr[sensor], m->sensor_dim[sensor]};
    }
    if (index >= out->count) return fail(r, "%s: %s has %d values, counted from 0", key, name, out->count);
    if (index >= 0) *out = (spec_values){out->source, out->first + index, 1};
    return true;
}

static bool read_observation(reader *r, const yaml_node_t *list)
{
    spec *s = r->s;
    if (list->type != YAML_SEQUENCE_NODE) return fail(r, "observation: expects a list, such as [qpos, qvel]");
    for (yaml_node_item_t *i = list->data.sequence.items.start; i < list->data.sequence.items.top; i++) {
        if (s->observation_count == SPEC_TERMS) return fail(r, "observation: at most %d entries", SPEC_TERMS);
        spec_values *values = &s->observation[s->observation_count];
        if (!values_of(r, "observation", text_of(yaml_document_get_node(&r->document, *i)), values))
            return false;
        s->observation_size += values->count;
        s->observation_count++;
    }
    return true;
}

typedef bool take_pair(reader *r, const char *name, const yaml_node_t *value);

static bool read_map(reader *r, const char *key, const yaml_node_t *map, take_pair *take)
{
    if (map->type != YAML_MAPPING_NODE) return fail(r, "%s: expects names and values", key);
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++)
        if (!take(r, text_of(yaml_document_get_node(&r->document, p->key)),
                  yaml_document_get_node(&r->document, p->value)))
            return false;
    return true;
}

/// "control: -0.001", "alive: 1", "speed: 2", "angle^2: -1".
static bool take_reward(reader *r, const char *name, const yaml_node_t *value)
{
    spec *s = r->s;
    if (s->reward_count == SPEC_TERMS) return fail(r, "reward: at most %d terms", SPEC_TERMS);
    spec_term *term = &s->reward[s->reward_count++];
    if (!number_of(r, name, value, -1e9, 1e9, &term->weight)) return false;
    if (strcmp(name, "control") == 0 || strcmp(name, "alive") == 0) {
        term->values = (spec_values){name[0] == 'c' ? SPEC_CONTROL : SPEC_ALIVE, 0, 0};
        return true;
    }
    char plain[SPEC_NAME + 16];
    snprintf(plain, sizeof plain, "%s", name);
    char *hat = strstr(plain, "^2");
    term->square = hat != NULL && hat[2] == '\0';
    if (term->square) *hat = '\0';
    return values_of(r, "reward", plain, &term->values);
}

/// "height: [0.7, .inf]": the episode ends where a value is outside.
static bool take_end(reader *r, const char *name, const yaml_node_t *value)
{
    spec *s = r->s;
    if (s->end_count == SPEC_TERMS) return fail(r, "end: at most %d bounds", SPEC_TERMS);
    spec_bound *bound = &s->end[s->end_count++];
    const yaml_node_item_t *items =
        value->type == YAML_SEQUENCE_NODE ? value->data.sequence.items.start : NULL;
    if (items == NULL || value->data.sequence.items.top - items != 2)
        return fail(r, "end: %s: expects [LOW, HIGH]", name);
    return values_of(r, "end", name, &bound->values) &&
           number_of(r, name, yaml_document_get_node(&r->document, items[0]), -INFINITY, INFINITY,
                     &bound->low) &&
           number_of(r, name, yaml_document_get_node(&r->document, items[1]), bound->low, INFINITY,
                     &bound->high);
}

// --- keys

static bool load_model(reader *r, const char *path, const char *model)
{
    spec *s = r->s;
    const char *slash = strrchr(path, '/');
    const int folder = model[0] == '/' || slash == NULL ? 0 : (int)(slash - path) + 1;
    if (asprintf(&s->model_path, "%.*s%s", folder, path, model) < 0) return fail(r, "no memory");
    char said[400] = "";
    s->model = mj_loadXML(s->model_path, NULL, said, sizeof said);
    if (s->model == NULL) return fail(r, "%s: %.300s", s->model_path, said);
    if (s->model->nu == 0) return fail(r, "%s: it has no actuator, and so no action", s->model_path);
    return true;
}

static bool take_key(reader *r, const char *key, const yaml_node_t *value)
{
    spec *s = r->s;
    double number = 0;
    bool ok = true;
    if (strcmp(key, "model") == 0) return true; // read before
    if (strcmp(key, "summary") == 0) {
        snprintf(s->summary, sizeof s->summary, "%s", text_of(value));
        return true;
    }
    if (strcmp(key, "observation") == 0) return read_observation(r, value);
    if (strcmp(key, "reward") == 0) return read_map(r, key, value, take_reward);
    if (strcmp(key, "end") == 0) return read_map(r, key, value, take_end);
    if (strcmp(key, "noise") == 0) return number_of(r, key, value, 0, 1e6, &s->noise);
    if (strcmp(key, "reward_threshold") == 0)
        return number_of(r, key, value, -1e12, 1e12, &s->reward_threshold);
    if (strcmp(key, "frame_skip") == 0) {
        ok = number_of(r, key, value, 1, 1000, &number);
        s->frame_skip = (int)number;
    } else if (strcmp(key, "max_episode_steps") == 0) {
        ok = number_of(r, key, value, 0, 1e9, &number);
        s->max_episode_steps = (uint32_t)number;
    } else {
        ok = fail(r,
                  "unknown key \"%s\"; there are model, summary, frame_skip, noise, max_episode_steps, "
                  "reward_threshold, observation, reward and end",
                  key);
    }
    return ok;
}

static const char *model_of(reader *r, const yaml_node_t *root)
{
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++)
        if (strcmp(text_of(yaml_document_get_node(&r->document, p->key)), "model") == 0)
            return text_of(yaml_document_get_node(&r->document, p->value));
    return "";
}

static bool read_document(reader *r, const char *path)
{
    const yaml_node_t *root = yaml_document_get_root_node(&r->document);
    if (root == NULL || root->type != YAML_MAPPING_NODE)
        return fail(r, "expects lines of the form \"key: value\"");
    const char *model = model_of(r, root);
    if (model[0] == '\0') return fail(r, "model: names no file");
    if (!load_model(r, path, model) || !read_map(r, "", root, take_key)) return false;
    if (r->s->observation_size == 0) return fail(r, "observation: nothing is observed");
    return r->s->reward_count > 0 || fail(r, "reward: there are no terms");
}

bool spec_read(spec *s, const char *path, char *error, size_t error_size)
{
    *s = (spec){.frame_skip = 1, .reward_threshold = NAN};
    snprintf(s->summary, sizeof s->summary, "a model of MuJoCo");
    reader r = {.s = s, .error = error, .error_size = error_size};
    FILE *file = fopen(path, "r");
    if (file == NULL) return fail(&r, "cannot be opened");
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        fclose(file);
        return fail(&r, "no memory to read YAML");
    }
    yaml_parser_set_input_file(&parser, file);
    bool ok = yaml_parser_load(&parser, &r.document) != 0;
    if (!ok) {
        fail(&r, "line %zu: not valid YAML: %s", parser.problem_mark.line + 1,
             parser.problem != NULL ? parser.problem : "cannot be read");
    } else {
        ok = read_document(&r, path);
        yaml_document_delete(&r.document);
    }
    yaml_parser_delete(&parser);
    fclose(file);
    return ok;
}

void spec_free(spec *s)
{
    if (s->model != NULL) mj_deleteModel(s->model);
    free(s->model_path);
    *s = (spec){0};
}
