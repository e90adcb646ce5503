// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// How a policy moves to workers (bytes) and rests on disk (policy.safetensors).
///
/// Bytes, for workers of the same build: a 32-byte head {magic, weights, observation size, version}, the flat
/// block of weights, then count, mean and M2 of the filter as f64, and the same three of the returns.
///
/// File: one tensor per entry of the parameters under its name, "filter.count|mean|m2" as f64 where
/// observations are normalised, "returns.moments" [count, mean, M2] as f64 where rewards are, and in the
/// metadata "format", "config" (JSON) and "version".
#include "policy_internal.h"

#include "corral/base/file.h"
#include "corral/base/safetensors.h"

#include "corral/core/losses.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t bytes_magic = UINT64_C(0x31594c4f504c5243); // "CRLPOLY1"
static const char file_format[] = "corral.policy.1";

typedef struct bytes_head {
    uint64_t magic, weights, observation_size, version;
} bytes_head;

size_t corral_policy_bytes(const corral_policy *policy)
{
    return sizeof(bytes_head) + corral_params_count(policy->params) * sizeof(float) +
           (1 + 2 * (size_t)policy->filter.size) * sizeof(double) + sizeof(corral_moments);
}

static unsigned char *put(unsigned char *to, const void *bytes, size_t size)
{
    memcpy(to, bytes, size);
    return to + size;
}

static const unsigned char *take(void *to, const unsigned char *from, size_t size)
{
    memcpy(to, from, size);
    return from + size;
}

void corral_policy_pack(const corral_policy *policy, void *out_bytes)
{
    const size_t weights = corral_params_count(policy->params), size = policy->filter.size;
    const bytes_head head = {bytes_magic, weights, size, policy->version};
    unsigned char *at = put(out_bytes, &head, sizeof head);
    at = put(at, corral_params_data_const(policy->params), weights * sizeof(float));
    at = put(at, &policy->filter.count, sizeof(double));
    at = put(at, policy->filter.mean, size * sizeof(double));
    at = put(at, policy->filter.m2, size * sizeof(double));
    put(at, &policy->returns, sizeof policy->returns);
}

corral_status corral_policy_unpack(corral_policy *policy, const void *bytes, size_t size)
{
    const size_t weights = corral_params_count(policy->params), elements = policy->filter.size;
    bytes_head head = {0};
    if (size == corral_policy_bytes(policy)) memcpy(&head, bytes, sizeof head);
    if (head.magic != bytes_magic || head.weights != weights || head.observation_size != elements)
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "%zu bytes are not weights of this network (%zu are expected)", size,
                           corral_policy_bytes(policy));
    const unsigned char *at = (const unsigned char *)bytes + sizeof head;
    at = take(corral_params_data(policy->params), at, weights * sizeof(float));
    at = take(&policy->filter.count, at, sizeof(double));
    at = take(policy->filter.mean, at, elements * sizeof(double));
    at = take(policy->filter.m2, at, elements * sizeof(double));
    take(&policy->returns, at, sizeof policy->returns);
    policy->version = head.version;
    policy_filter_refresh(&policy->filter);
    corral_params_refresh(policy->params);
    corral_policy_still_noise(policy);
    return CORRAL_OK;
}

void corral_policy_take(corral_policy *policy, const corral_policy *from, uint32_t *out_taken,
                        uint32_t *out_left)
{
    *out_taken = *out_left = 0;
    for (uint32_t i = 0; i < corral_params_entry_count(policy->params); i++) {
        const corral_param *to = corral_params_entry(policy->params, i), *source = NULL;
        for (uint32_t k = 0; k < corral_params_entry_count(from->params); k++) {
            const corral_param *entry = corral_params_entry(from->params, k);
            if (strcmp(entry->name, to->name) == 0) source = entry;
        }
        const bool fits = source != NULL && source->dimension_count == to->dimension_count &&
                          memcmp(source->shape, to->shape, to->dimension_count * sizeof to->shape[0]) == 0;
        if (fits)
            memcpy((float *)corral_params_data(policy->params) + to->offset,
                   (const float *)corral_params_data_const(from->params) + source->offset,
                   to->count * sizeof(float));
        *(fits ? out_taken : out_left) += 1;
    }
    if (policy->filter.size == from->filter.size) {
        policy->filter.count = from->filter.count;
        memcpy(policy->filter.mean, from->filter.mean, from->filter.size * sizeof(double));
        memcpy(policy->filter.m2, from->filter.m2, from->filter.size * sizeof(double));
        policy_filter_refresh(&policy->filter);
    }
    policy->returns = from->returns;
    corral_params_refresh(policy->params);
    corral_policy_still_noise(policy);
}

// --- configuration as JSON --------------------------------------------------------------------------------

static const char *const activation_names[] = {"linear", "tanh", "relu"};
static const char *const kind_names[] = {"actor_critic", "q"};
static const char *const initialisation_names[] = {"orthogonal", "fan_in"};
static const char *const memory_names[] = {"none", "lstm", "gru"};
static const char *const cnn_names[] = {"none", "small", "nature"};
static const char *const deviation_names[] = {"free", "state", "gsde"};

/// What only actions of other kinds than one choice have. An action without parts and masks says nothing.
static void action_to_json(cJSON *root, const corral_policy_config *config)
{
    policy_space_to_json(root, "action", &config->action);
    if (config->masked) cJSON_AddBoolToObject(root, "masked", true);
    if (config->action.part_count == 0) return;
    cJSON_AddStringToObject(root, "deviation", deviation_names[config->deviation]);
    cJSON_AddBoolToObject(root, "squash", config->squash);
    cJSON_AddBoolToObject(root, "rescale", config->rescale);
    cJSON_AddNumberToObject(root, "log_std_init", config->log_std_init);
    cJSON_AddNumberToObject(root, "noise_every", config->noise_every > 0 ? config->noise_every : 1);
}

static const char *const worth_names[] = {"mean", "categorical", "quantile"};

/// What a Q-network may have besides; a plain one does not say it.
static void worth_to_json(cJSON *root, const corral_policy_config *config)
{
    if (config->worth != CORRAL_WORTH_MEAN) {
        cJSON_AddStringToObject(root, "worth", worth_names[config->worth]);
        cJSON_AddNumberToObject(root, "atoms", config->atoms);
        cJSON_AddNumberToObject(root, "value_min", config->value_min);
        cJSON_AddNumberToObject(root, "value_max", config->value_max);
    }
    if (!config->noisy) return;
    cJSON_AddBoolToObject(root, "noisy", true);
    cJSON_AddNumberToObject(root, "noisy_sigma", config->noisy_sigma);
}

static char *config_to_json(const corral_policy_config *config)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "observation_size", config->observation_size);
    cJSON_AddNumberToObject(root, "action_count", config->action_count);
    cJSON_AddNumberToObject(root, "action_start", (double)config->action_start);
    cJSON *hidden = cJSON_AddArrayToObject(root, "hidden");
    for (uint32_t i = 0; i < config->hidden.count; i++)
        cJSON_AddItemToArray(hidden, cJSON_CreateNumber(config->hidden.value[i]));
    cJSON_AddStringToObject(root, "activation", activation_names[config->activation]);
    cJSON_AddBoolToObject(root, "shared", config->shared);
    cJSON_AddStringToObject(root, "initialisation", initialisation_names[config->initialisation]);
    cJSON_AddBoolToObject(root, "normalize_observation", config->normalize_observation);
    cJSON_AddNumberToObject(root, "observation_clip", config->observation_clip);
    if (config->normalize_reward) cJSON_AddBoolToObject(root, "normalize_reward", true);
    if (config->kind != CORRAL_POLICY_ACTOR_CRITIC) {
        cJSON_AddStringToObject(root, "kind", kind_names[config->kind]);
        cJSON_AddBoolToObject(root, "dueling", config->dueling);
        worth_to_json(root, config);
    }
    policy_space_to_json(root, "observation", &config->observation);
    if (config->memory != CORRAL_MEMORY_NONE) {
        cJSON_AddStringToObject(root, "memory", memory_names[config->memory]);
        cJSON_AddNumberToObject(root, "memory_units", config->memory_units);
    }
    if (config->cnn != CORRAL_CNN_NONE) cJSON_AddStringToObject(root, "cnn", cnn_names[config->cnn]);
    action_to_json(root, config);
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}

static bool read_count(const cJSON *root, const char *key, double max, uint32_t *out_value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 1 && item->valuedouble <= max)) return false;
    *out_value = (uint32_t)item->valuedouble;
    return *out_value == item->valuedouble;
}

static bool read_name(const cJSON *root, const char *key, const char *const *names, int count, int *out_index)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, key));
    for (int i = 0; text != NULL && i < count; i++) {
        if (strcmp(names[i], text) == 0) {
            *out_index = i;
            return true;
        }
    }
    return false;
}

static bool read_hidden(const cJSON *root, corral_sizes *out_hidden)
{
    const cJSON *hidden = cJSON_GetObjectItemCaseSensitive(root, "hidden"), *item;
    const int count = cJSON_GetArraySize(hidden);
    if (!cJSON_IsArray(hidden) || count < 1 || count > CORRAL_SIZES_MAX) return false;
    cJSON_ArrayForEach(item, hidden)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 1 && item->valuedouble <= 65536)) return false;
        out_hidden->value[out_hidden->count++] = (uint32_t)item->valuedouble;
    }
    return true;
}

static bool action_from_json(const cJSON *root, corral_policy_config *config)
{
    if (!policy_space_from_json(root, "action", &config->action)) return false;
    config->masked = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "masked"));
    if (config->action.part_count == 0) return true;
    const cJSON *log_std = cJSON_GetObjectItemCaseSensitive(root, "log_std_init");
    int deviation;
    if (!read_name(root, "deviation", deviation_names, 3, &deviation) || !cJSON_IsNumber(log_std) ||
        !isfinite(log_std->valuedouble) || !read_count(root, "noise_every", UINT32_MAX, &config->noise_every))
        return false;
    config->deviation = (corral_deviation_kind)deviation;
    config->log_std_init = log_std->valuedouble;
    config->squash = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "squash"));
    config->rescale = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "rescale"));
    return true;
}

static bool read_double(const cJSON *root, const char *key, double *out_value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble)) return false;
    *out_value = item->valuedouble;
    return true;
}

static bool worth_from_json(const cJSON *root, corral_policy_config *config)
{
    int worth = CORRAL_WORTH_MEAN;
    bool good = true;
    if (cJSON_HasObjectItem(root, "worth"))
        good = read_name(root, "worth", worth_names, 3, &worth) &&
               read_count(root, "atoms", CORRAL_C51_MOST_ATOMS, &config->atoms) &&
               read_double(root, "value_min", &config->value_min) &&
               read_double(root, "value_max", &config->value_max);
    config->worth = (corral_worth)worth;
    config->noisy = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "noisy"));
    return good && (!config->noisy || read_double(root, "noisy_sigma", &config->noisy_sigma));
}

static bool memory_from_json(const cJSON *root, corral_policy_config *config)
{
    int memory;
    if (!cJSON_HasObjectItem(root, "memory")) return true;
    if (!read_name(root, "memory", memory_names, 3, &memory) ||
        !read_count(root, "memory_units", 65536, &config->memory_units))
        return false;
    config->memory = (corral_memory)memory;
    return true;
}

static bool config_from_json(const char *text, corral_policy_config *out_config)
{
    corral_policy_config config = {0};
    cJSON *root = cJSON_Parse(text);
    int activation = 0, initialisation = 0, cnn = CORRAL_CNN_NONE, kind = CORRAL_POLICY_ACTOR_CRITIC;
    const bool has_kind = cJSON_HasObjectItem(root, "kind"); // an actor-critic does not say it
    const cJSON *start = cJSON_GetObjectItemCaseSensitive(root, "action_start");
    const cJSON *clip = cJSON_GetObjectItemCaseSensitive(root, "observation_clip");
    const bool good = root != NULL && worth_from_json(root, &config) &&
                      read_count(root, "observation_size", 1 << 24, &config.observation_size) &&
                      read_count(root, "action_count", 1 << 20, &config.action_count) &&
                      read_hidden(root, &config.hidden) &&
                      policy_space_from_json(root, "observation", &config.observation) &&
                      action_from_json(root, &config) && memory_from_json(root, &config) &&
                      read_name(root, "activation", activation_names, 3, &activation) &&
                      read_name(root, "initialisation", initialisation_names, 2, &initialisation) &&
                      (!has_kind || read_name(root, "kind", kind_names, 2, &kind)) &&
                      (!cJSON_HasObjectItem(root, "cnn") || read_name(root, "cnn", cnn_names, 3, &cnn)) &&
                      cJSON_IsNumber(start) && fabs(start->valuedouble) <= 1e9 && cJSON_IsNumber(clip) &&
                      clip->valuedouble > 0;
    if (good) {
        config.cnn = (corral_cnn)cnn;
        config.kind = (corral_policy_kind)kind;
        config.dueling = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "dueling"));
        config.activation = (corral_activation)activation;
        config.initialisation = (corral_initialisation)initialisation;
        config.action_start = (int64_t)start->valuedouble;
        config.observation_clip = clip->valuedouble;
        config.shared = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "shared"));
        config.normalize_observation =
            cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "normalize_observation"));
        config.normalize_reward = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "normalize_reward"));
        *out_config = config;
    }
    cJSON_Delete(root);
    return good;
}

// --- the file ---------------------------------------------------------------------------------------------

corral_status corral_policy_write(const corral_policy *policy, const char *path)
{
    const uint32_t entries = corral_params_entry_count(policy->params);
    corral_stored_tensor *tensors = calloc((size_t)entries + 4, sizeof *tensors);
    char *config = config_to_json(&policy->config),
         *version = corral_format("%llu", (unsigned long long)policy->version);
    corral_status status = CORRAL_OK;
    if (tensors == NULL || config == NULL || version == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to write the policy", path);
    size_t count = 0;
    for (; status == CORRAL_OK && count < entries; count++) {
        const corral_param *entry = corral_params_entry(policy->params, (uint32_t)count);
        corral_stored_tensor *tensor = &tensors[count];
        *tensor = (corral_stored_tensor){.name = entry->name, .type = CORRAL_STORED_F32};
        tensor->dimension_count = entry->dimension_count;
        for (uint32_t d = 0; d < entry->dimension_count; d++)
            tensor->shape[d] = entry->shape[d];
        tensor->data = (const float *)corral_params_data_const(policy->params) + entry->offset;
        tensor->size = entry->count * sizeof(float);
    }
    if (status == CORRAL_OK && policy->config.normalize_observation) {
        const policy_filter *f = &policy->filter;
        const size_t size = f->size * sizeof(double);
        tensors[count++] =
            (corral_stored_tensor){"filter.count", CORRAL_STORED_F64, 1, {1}, &f->count, sizeof(double)};
        tensors[count++] =
            (corral_stored_tensor){"filter.mean", CORRAL_STORED_F64, 1, {f->size}, f->mean, size};
        tensors[count++] = (corral_stored_tensor){"filter.m2", CORRAL_STORED_F64, 1, {f->size}, f->m2, size};
    }
    if (status == CORRAL_OK && policy->config.normalize_reward)
        tensors[count++] = (corral_stored_tensor){"returns.moments", CORRAL_STORED_F64,     1, {3},
                                                  &policy->returns,  sizeof policy->returns};
    if (status == CORRAL_OK) {
        const char *const metadata[] = {"format", file_format, "config", config, "version", version, NULL};
        status = corral_safetensors_write(path, tensors, count, metadata);
    }
    free(tensors);
    cJSON_free(config);
    free(version);
    return status;
}

/// Copies a stored tensor of exactly this type and size.
static corral_status load(const corral_safetensors *file, const char *path, const char *name,
                          corral_stored_type type, void *out, size_t size)
{
    const corral_stored_tensor *tensor = corral_safetensors_find(file, name);
    if (tensor == NULL) return corral_fail(CORRAL_ERROR_CORRUPT, "%s: no tensor \"%s\"", path, name);
    if (tensor->type != type || tensor->size != size)
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "%s: tensor \"%s\" has %zu bytes where its network needs %zu", path, name,
                           tensor->size, size);
    memcpy(out, tensor->data, size);
    return CORRAL_OK;
}

static corral_status load_all(corral_policy *policy, const corral_safetensors *file, const char *path)
{
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; i < corral_params_entry_count(policy->params) && status == CORRAL_OK; i++) {
        const corral_param *entry = corral_params_entry(policy->params, i);
        status =
            load(file, path, entry->name, CORRAL_STORED_F32,
                 (float *)corral_params_data(policy->params) + entry->offset, entry->count * sizeof(float));
    }
    policy_filter *f = &policy->filter;
    const size_t size = f->size * sizeof(double);
    if (policy->config.normalize_observation) {
        if (status == CORRAL_OK)
            status = load(file, path, "filter.count", CORRAL_STORED_F64, &f->count, sizeof f->count);
        if (status == CORRAL_OK) status = load(file, path, "filter.mean", CORRAL_STORED_F64, f->mean, size);
        if (status == CORRAL_OK) status = load(file, path, "filter.m2", CORRAL_STORED_F64, f->m2, size);
    }
    if (status == CORRAL_OK && policy->config.normalize_reward)
        status =
            load(file, path, "returns.moments", CORRAL_STORED_F64, &policy->returns, sizeof policy->returns);
    policy_filter_refresh(f);
    corral_params_refresh(policy->params);
    corral_policy_still_noise(policy);
    return status;
}

/// The largest network that a file of this size could hold, so that a small file cannot ask for much memory.
static bool fits_in(const corral_policy_config *config, size_t file_size)
{
    // Convolutions share their weights: of those only what stands behind them is counted.
    size_t previous = config->cnn == CORRAL_CNN_NONE ? config->observation_size : 1, weights = 0;
    for (uint32_t i = 0; i < config->hidden.count; i++) {
        weights += previous * config->hidden.value[i];
        previous = config->hidden.value[i];
    }
    // The heads of an action with parts have about as many outputs as inputs, but not always.
    const size_t outputs = config->action.part_count == 0 ? config->action_count * policy_atoms(config) : 1;
    return (weights + previous * outputs) * sizeof(float) <= file_size;
}

corral_status corral_policy_read(const char *path, corral_policy **out_policy)
{
    corral_safetensors *file;
    corral_status status = corral_safetensors_read(path, &file);
    if (status != CORRAL_OK) return status;
    const char *format = corral_safetensors_metadata(file, "format");
    const char *text = corral_safetensors_metadata(file, "config");
    const char *version = corral_safetensors_metadata(file, "version");
    size_t size = 0;
    for (size_t i = 0; i < corral_safetensors_count(file); i++)
        size += corral_safetensors_at(file, i)->size;

    corral_policy_config config;
    corral_policy *policy = NULL;
    if (format == NULL || strcmp(format, file_format) != 0)
        status = corral_fail(CORRAL_ERROR_VERSION, "%s: not a policy of this version (\"%s\" is missing)",
                             path, file_format);
    else if (text == NULL || !config_from_json(text, &config) || !fits_in(&config, size))
        status =
            corral_fail(CORRAL_ERROR_CORRUPT, "%s: its configuration does not describe its network", path);
    if (status == CORRAL_OK) status = policy_create_uninitialised(&config, &policy);
    if (status == CORRAL_OK) status = load_all(policy, file, path);
    if (status == CORRAL_OK && version != NULL) policy->version = strtoull(version, NULL, 10);
    corral_safetensors_destroy(file);
    if (status != CORRAL_OK) {
        corral_policy_destroy(policy);
        return status;
    }
    *out_policy = policy;
    return CORRAL_OK;
}
