// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Checks everything in a descriptor before anything in it is used. A library is somebody else's binary,
// perhaps made with another header: what is checked here is never checked again by those who step it.
//
// Order matters: a field is read only after the size that says that it exists, an array only after its count.
// Sentences grow from the inside: "the range of gravity is empty" gets its type and its file on the way out.

#include "plugin.h"

#include "corral/envs/registry.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    TYPES_MAX = 4096,
    LEAVES_MAX = 64,
    PARAMS_MAX = 256,
    WORD_MAX = 128,         // bytes of an id or a name
    STATE_MAX = 1 << 28,    // bytes of one saved state
    INSTANCE_MAX = 1 << 30, // bytes
    ELEMENTS_MAX = 1 << 28, // of one leaf
};

static corral_status invalid(const char *sentence)
{
    return corral_fail(CORRAL_ERROR_INVALID, "%s", sentence);
}

/// Ids and names are typed on command lines, where "walk.so:Walk-v0" and "name=value" have to come apart
/// again.
static bool is_word(const char *text, const char *punctuation)
{
    if (text == NULL || text[0] == '\0' || strnlen(text, WORD_MAX) == WORD_MAX) return false;
    for (const char *c = text; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr(punctuation, *c) == NULL) return false;
    return true;
}

// --- spaces

static corral_status check_shape(const corral_space *space)
{
    if (space->dimension_count > CORRAL_SPACE_DIMENSIONS)
        return corral_fail(CORRAL_ERROR_INVALID, "it has %u dimensions; at most %d are possible",
                           space->dimension_count, CORRAL_SPACE_DIMENSIONS);
    uint64_t count = 1;
    for (uint32_t d = 0; d < space->dimension_count; d++) {
        if (space->shape[d] == 0) return corral_fail(CORRAL_ERROR_INVALID, "shape[%u] is 0", d);
        count *= space->shape[d];
        if (count > ELEMENTS_MAX)
            return corral_fail(CORRAL_ERROR_INVALID, "it has more than %d elements", ELEMENTS_MAX);
    }
    return CORRAL_OK;
}

static corral_status check_bounds(const corral_space *space)
{
    static const double least[] = {[CORRAL_SPACE_F32] = -INFINITY,
                                   [CORRAL_SPACE_F64] = -INFINITY,
                                   [CORRAL_SPACE_U8] = 0,
                                   [CORRAL_SPACE_I32] = INT32_MIN};
    static const double most[] = {[CORRAL_SPACE_F32] = INFINITY,
                                  [CORRAL_SPACE_F64] = INFINITY,
                                  [CORRAL_SPACE_U8] = UINT8_MAX,
                                  [CORRAL_SPACE_I32] = INT32_MAX};
    const size_t count = space->low_each != NULL || space->high_each != NULL ? corral_space_count(space) : 1;
    for (size_t i = 0; i < count; i++) {
        const double low = space->low_each != NULL ? space->low_each[i] : space->low;
        const double high = space->high_each != NULL ? space->high_each[i] : space->high;
        if (!(low <= high)) // also where one is not a number
            return corral_fail(CORRAL_ERROR_INVALID, "bounds [%g, %g] of element %zu are empty", low, high,
                               i);
        if (low < least[space->dtype] || high > most[space->dtype])
            return corral_fail(CORRAL_ERROR_INVALID, "bounds [%g, %g] of element %zu do not fit its dtype",
                               low, high, i);
    }
    return CORRAL_OK;
}

static corral_status check_box(const corral_space *space)
{
    if (space->dtype < CORRAL_SPACE_F32 || space->dtype > CORRAL_SPACE_I32)
        return corral_fail(CORRAL_ERROR_INVALID, "dtype %u is none of F32, F64, U8, I32", space->dtype);
    corral_status status = check_shape(space);
    if (status == CORRAL_OK) status = check_bounds(space);
    return status;
}

static corral_status check_discrete(const corral_space *space)
{
    if (space->dtype != CORRAL_SPACE_I32) return invalid("a DISCRETE space has dtype I32");
    if (space->dimension_count != 0) return invalid("a DISCRETE space has dimension_count 0");
    if (space->n < 1 || space->n > INT32_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "n is %lld; it must be 1 .. %d", (long long)space->n,
                           INT32_MAX);
    if (space->start < INT32_MIN || space->start > INT32_MAX - (space->n - 1))
        return invalid("start .. start+n-1 does not fit an int32");
    return CORRAL_OK;
}

static corral_status check_multi_discrete(const corral_space *space)
{
    if (space->dtype != CORRAL_SPACE_I32) return invalid("a MULTI_DISCRETE space has dtype I32");
    if (space->nvec == NULL) return invalid("nvec is NULL");
    corral_status status = check_shape(space);
    if (status != CORRAL_OK) return status;
    for (size_t i = 0, count = corral_space_count(space); i < count; i++)
        if (space->nvec[i] < 1 || space->nvec[i] > INT32_MAX)
            return corral_fail(CORRAL_ERROR_INVALID, "nvec[%zu] is %lld; it must be 1 .. %d", i,
                               (long long)space->nvec[i], INT32_MAX);
    return CORRAL_OK;
}

static corral_status check_multi_binary(const corral_space *space)
{
    if (space->dtype != CORRAL_SPACE_U8) return invalid("a MULTI_BINARY space has dtype U8");
    return check_shape(space);
}

static corral_status check_space(const corral_space *space)
{
    switch (space->kind) {
    case CORRAL_SPACE_BOX:
        return check_box(space);
    case CORRAL_SPACE_DISCRETE:
        return check_discrete(space);
    case CORRAL_SPACE_MULTI_DISCRETE:
        return check_multi_discrete(space);
    case CORRAL_SPACE_MULTI_BINARY:
        return check_multi_binary(space);
    default:
        return corral_fail(CORRAL_ERROR_INVALID,
                           "kind %u is none of BOX, DISCRETE, MULTI_DISCRETE, MULTI_BINARY", space->kind);
    }
}

static corral_status check_path(const corral_space *leaves, uint32_t count, uint32_t index)
{
    const char *path = leaves[index].path;
    if (path == NULL) return invalid("path is NULL; a plain space has the path \"\"");
    if (strnlen(path, WORD_MAX) == WORD_MAX) return invalid("path is too long");
    if (count > 1 && path[0] == '\0') return invalid("path is empty; one of several leaves needs a name");
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(leaves[i].path, path) == 0)
            return corral_fail(CORRAL_ERROR_INVALID, "two leaves have the path \"%s\"", path);
    return CORRAL_OK;
}

static corral_status check_leaves(const char *part, const corral_space *leaves, uint32_t count)
{
    if (leaves == NULL || count == 0)
        return corral_fail(CORRAL_ERROR_INVALID, "the %s space is missing: spaces.%s and its count", part,
                           part);
    if (count > LEAVES_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "the %s space has %u leaves; at most %d are possible", part,
                           count, LEAVES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        corral_status status = check_path(leaves, count, i);
        if (status == CORRAL_OK) status = check_space(&leaves[i]);
        if (status != CORRAL_OK) return corral_fail_within(status, "%s space, leaf %u", part, i);
    }
    return CORRAL_OK;
}

// --- parameters

static corral_status check_param(const corral_env_param *params, uint32_t index)
{
    const corral_env_param *p = &params[index];
    if (!is_word(p->name, "_-"))
        return corral_fail(CORRAL_ERROR_INVALID, "parameter %u needs a name of letters, digits, '_' and '-'",
                           index);
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(params[i].name, p->name) == 0)
            return corral_fail(CORRAL_ERROR_INVALID, "two parameters are called %s", p->name);
    if (p->help == NULL) return corral_fail(CORRAL_ERROR_INVALID, "parameter %s has no help line", p->name);
    if (!(p->min <= p->max))
        return corral_fail(CORRAL_ERROR_INVALID, "parameter %s: the range [%g, %g] is empty", p->name, p->min,
                           p->max);
    if (!isfinite(p->default_value) || p->default_value < p->min || p->default_value > p->max)
        return corral_fail(CORRAL_ERROR_INVALID, "parameter %s: the default %g is outside [%g, %g]", p->name,
                           p->default_value, p->min, p->max);
    return CORRAL_OK;
}

static corral_status check_params(const corral_env_type *type)
{
    if (type->param_count > PARAMS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "it has %u parameters; at most %d are possible",
                           type->param_count, PARAMS_MAX);
    if (type->param_count > 0 && type->params == NULL)
        return invalid("params is NULL but param_count is not 0");
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; i < type->param_count && status == CORRAL_OK; i++)
        status = check_param(type->params, i);
    return status;
}

// --- functions

static corral_status check_functions(const corral_env_type *type)
{
    if (type->single == NULL && type->batch == NULL)
        return invalid("neither `single` nor `batch` is set; fill exactly one of them");
    if (type->single != NULL && type->batch != NULL)
        return invalid("both `single` and `batch` are set; fill exactly one of them");
    if (type->batch != NULL) {
        const corral_env_batch_functions *f = type->batch;
        const bool made = type->size >= sizeof *type && type->create_for != NULL;
        if ((f->create == NULL && !made) || f->destroy == NULL || f->reset == NULL || f->step == NULL)
            return invalid("batch needs create, destroy, reset and step");
        return CORRAL_OK;
    }
    const corral_env_single *f = type->single;
    if (f->reset == NULL || f->step == NULL) return invalid("single needs reset and step");
    if (f->init == NULL && type->param_count > 0)
        return invalid("it has parameters but no single.init to take them");
    if (f->instance_size == 0 || f->instance_size > INSTANCE_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "single.instance_size is %zu; it must be 1 .. %d",
                           f->instance_size, INSTANCE_MAX);
    return CORRAL_OK;
}

static bool is_info_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const size_t length = name != NULL ? strnlen(name, CORRAL_ENV_INFO_NAME) : 0;
    return length > 0 && length < CORRAL_ENV_INFO_NAME && strspn(name, letters) == length;
}

static corral_status check_info(const corral_env_info *info)
{
    if (info->size < sizeof *info) return invalid(CORRAL_ENV_INFO " is too small: set its size");
    if (info->info == NULL || info->name == NULL) return invalid(CORRAL_ENV_INFO " needs names and info");
    if (info->count == 0 || info->count > CORRAL_ENV_INFO_MOST)
        return corral_fail(CORRAL_ERROR_INVALID, CORRAL_ENV_INFO ".count is %u; it must be 1 .. %d",
                           info->count, CORRAL_ENV_INFO_MOST);
    for (uint32_t i = 0; i < info->count; i++) {
        if (!is_info_name(info->name[i]))
            return corral_fail(CORRAL_ERROR_INVALID,
                               CORRAL_ENV_INFO ".name[%u] must be 1 to %d letters, digits, _ and -", i,
                               CORRAL_ENV_INFO_NAME - 1);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(info->name[k], info->name[i]) == 0)
                return corral_fail(CORRAL_ERROR_INVALID, CORRAL_ENV_INFO " has two numbers called %s",
                                   info->name[i]);
    }
    return CORRAL_OK;
}

static corral_status check_extensions(const corral_env_type *type)
{
    const corral_env_state *state = corral_env_extension(type, CORRAL_ENV_STATE);
    if (state != NULL) {
        if (state->size < sizeof *state) return invalid(CORRAL_ENV_STATE " is too small: set its size");
        if (state->save == NULL || state->load == NULL)
            return invalid(CORRAL_ENV_STATE " needs save and load");
        if (state->state_size == 0 || state->state_size > STATE_MAX)
            return corral_fail(CORRAL_ERROR_INVALID, CORRAL_ENV_STATE ".state_size is %u; it must be 1 .. %d",
                               state->state_size, STATE_MAX);
    }
    const corral_env_render *render = corral_env_extension(type, CORRAL_ENV_RENDER);
    if (render != NULL) {
        if (render->size < sizeof *render) return invalid(CORRAL_ENV_RENDER " is too small: set its size");
        if (render->draw == NULL) return invalid(CORRAL_ENV_RENDER " needs draw");
        if (!(render->width >= 1 && render->width <= 16384 && render->height >= 1 && render->height <= 16384))
            return invalid(CORRAL_ENV_RENDER ": width and height must be 1 .. 16384");
    }
    const corral_env_action_mask *mask = corral_env_extension(type, CORRAL_ENV_ACTION_MASK);
    if (mask != NULL) {
        if (mask->size < sizeof *mask) return invalid(CORRAL_ENV_ACTION_MASK " is too small: set its size");
        if (mask->mask == NULL) return invalid(CORRAL_ENV_ACTION_MASK " needs mask");
        bool has_choices = false;
        for (uint32_t k = 0; k < type->spaces.action_count; k++)
            has_choices |= type->spaces.action[k].kind != CORRAL_SPACE_BOX;
        if (!has_choices) return invalid(CORRAL_ENV_ACTION_MASK " is for actions with choices");
    }
    const corral_env_keys *keys = corral_env_extension(type, CORRAL_ENV_KEYS);
    if (keys != NULL && (keys->size < sizeof *keys || keys->action == NULL || keys->help == NULL))
        return invalid(CORRAL_ENV_KEYS " needs its size, help and action");
    const corral_env_info *info = corral_env_extension(type, CORRAL_ENV_INFO);
    return info != NULL ? check_info(info) : CORRAL_OK;
}

// --- types

static corral_status check_type(const corral_env_type *type)
{
    if (type->summary == NULL) return invalid("summary is NULL");
    if (isinf(type->reward_threshold))
        return invalid("reward_threshold is infinite; use NAN where there is none");
    if (!(type->render_fps >= 0 && type->render_fps <= 1000)) return invalid("render_fps must be 0 .. 1000");

    const corral_env_spaces *spaces = &type->spaces;
    corral_status status = check_leaves("observation", spaces->observation, spaces->observation_count);
    if (status == CORRAL_OK) status = check_leaves("action", spaces->action, spaces->action_count);
    if (status == CORRAL_OK) status = check_params(type);
    if (status == CORRAL_OK) status = check_functions(type);
    if (status == CORRAL_OK) status = check_extensions(type);
    return status;
}

static corral_status check_id(const corral_env_plugin_descriptor *descriptor, uint32_t index)
{
    const corral_env_type *type = corral_plugin_type(descriptor, index);
    if (type->size < offsetof(corral_env_type, context) || type->size != descriptor->types[0].size ||
        type->size % _Alignof(corral_env_type))
        return corral_fail(
            CORRAL_ERROR_INVALID,
            "environment %u: size is %u; set .size = sizeof(corral_env_type) in each (%zu bytes here)", index,
            type->size, sizeof *type);
    if (!is_word(type->id, "_-."))
        return corral_fail(CORRAL_ERROR_INVALID,
                           "environment %u: id needs 1 to %d letters, digits, '-', '_' and '.'", index,
                           WORD_MAX - 1);
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(corral_plugin_type(descriptor, i)->id, type->id) == 0)
            return corral_fail(CORRAL_ERROR_INVALID, "two environments have the id %s", type->id);
    return CORRAL_OK;
}

static corral_status check_descriptor(const corral_env_plugin_descriptor *descriptor)
{
    if (descriptor->abi_major != CORRAL_ENV_ABI_MAJOR)
        return corral_fail(
            CORRAL_ERROR_VERSION,
            "made for version %u of corral/env.h, this program has %d: build it again with this "
            "program's header",
            descriptor->abi_major, CORRAL_ENV_ABI_MAJOR);
    if (descriptor->size < offsetof(corral_env_plugin_descriptor, open))
        return corral_fail(CORRAL_ERROR_INVALID,
                           "the descriptor says %u bytes, at least %zu are needed: use "
                           "CORRAL_ENV_EXPORT",
                           descriptor->size, offsetof(corral_env_plugin_descriptor, open));
    const bool opens = descriptor->size >= sizeof *descriptor && descriptor->open != NULL;
    if (descriptor->types == NULL || descriptor->type_count == 0)
        return opens && descriptor->type_count == 0 ? CORRAL_OK : invalid("it lists no environment");
    if (descriptor->type_count > TYPES_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "it lists %u environments; at most %d are possible",
                           descriptor->type_count, TYPES_MAX);
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; i < descriptor->type_count && status == CORRAL_OK; i++) {
        status = check_id(descriptor, i);
        if (status != CORRAL_OK) break;
        const corral_env_type *type = corral_plugin_type(descriptor, i);
        status = corral_fail_within(check_type(type), "%s", type->id);
    }
    return status;
}

const corral_env_type *corral_plugin_type(const corral_env_plugin_descriptor *descriptor, size_t index)
{
    const char *first = (const char *)descriptor->types;
    return (const void *)(first + index * descriptor->types[0].size);
}

corral_status corral_env_check_made(const corral_env_type *type)
{
    if (type->size < sizeof *type || type->id == NULL || type->id[0] == '\0')
        return invalid("a type that was made at run time needs its size and an id");
    return corral_fail_within(check_type(type), "%s", type->id);
}

corral_status corral_env_check_descriptor(const char *name, const corral_env_plugin_descriptor *descriptor)
{
    if (descriptor == NULL) return corral_fail(CORRAL_ERROR_INVALID, "%s: it has no descriptor", name);
    return corral_fail_within(check_descriptor(descriptor), "%s", name);
}
