// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// LSTM and GRU over sequences. Forward, the products with the inputs are one product over all rows; then the
// steps go one after the other, each a product of all sequences' states with W_h, which adds to the sums that
// are there, and the cell. Rows are in (sequence, step) order, so a step's rows lie `steps` apart; the
// products take strides. Backward, the steps go the other way and leave the gradients of all sums; the
// gradients of weights and inputs are then one product each, over all rows.
//
// The state that a step began with (the last one, or zeros where an episode began) is kept for every row:
// it is what the gradient of W_h multiplies.

#include "corral/base/status.h"

#include "ops/kernels.h"
#include "ops/layer_kernels.h"
#include "tensor/params.h"
#include "tensor/tape.h"

#include <string.h>

/// Everything one layer's node remembers. Arrays are [rows, .], `gate_count` times `hidden` wide or `hidden`.
typedef struct recurrent_record {
    corral_recurrent entries;
    const corral_tensor *x;
    corral_tensor *first_hidden, *first_cell; // NULL: zeros
    const uint8_t *reset;
    size_t steps, sequences, rows, in, hidden, gate_count; // 4 gates: LSTM, 3: GRU
    size_t size;                                           // of an element
    char *gates, *h_before, *c_before, *c, *tanh_c;
    float *panels; // W_h^T in panels, where there are steps enough to make them worth while; else NULL
    char *sums;    // GRU: W_h h + b_h. LSTM: [gates], the two biases' sum
    corral_tensor *h_out, *c_out;
} recurrent_record;

static bool is_lstm(const recurrent_record *r)
{
    return r->gate_count == 4;
}

/// The element of step `t` of the first sequence.
static char *step_of(const recurrent_record *r, char *array, size_t t, size_t width)
{
    return array == NULL ? NULL : array + t * width * r->size;
}

static corral_cell_run run_of(const recurrent_record *r, size_t t)
{
    const size_t n = r->hidden, wide = r->gate_count * n;
    return (corral_cell_run){
        .sequences = r->sequences,
        .stride = r->steps,
        .hidden = n,
        .gates = step_of(r, r->gates, t, wide),
        .sums = step_of(r, r->sums, t, wide),
        .h_before = step_of(r, r->h_before, t, n),
        .c_before = step_of(r, r->c_before, t, n),
        .h = step_of(r, r->h_out->data, t, n),
        .c = step_of(r, r->c, t, n),
        .tanh_c = step_of(r, r->tanh_c, t, n),
    };
}

// --- forward ----------------------------------------------------------------------------------------------

/// What the sums begin with: of an LSTM b_i + b_h, which is put into memory of the record.
static const void *first_bias(const corral_tape *tape, const recurrent_record *r, corral_dtype dtype)
{
    const size_t count = r->gate_count * r->hidden;
    const void *bias = corral_tape_parameter_data(tape, r->entries.bias_input);
    if (!is_lstm(r)) return bias;
    memcpy(r->sums, bias, count * r->size);
    corral_kernels_of(dtype)->add(count, corral_tape_parameter_data(tape, r->entries.bias_hidden), r->sums);
    return r->sums;
}

static const float *packed_of(const corral_tape *tape, uint32_t entry)
{
    return tape->params->dtype == CORRAL_F32 ? corral_params_packed(tape->params, entry) : NULL;
}

static void forward_step(const corral_tape *tape, const recurrent_record *r, corral_dtype dtype, size_t t)
{
    const corral_layer_kernels *layers = corral_layers_of(dtype);
    const corral_cell_run run = run_of(r, t);
    const size_t n = r->hidden, wide = r->gate_count * n;
    const void *h_last = r->first_hidden == NULL ? NULL : r->first_hidden->data;
    const void *c_last = r->first_cell == NULL ? NULL : r->first_cell->data;
    if (t > 0) {
        h_last = step_of(r, r->h_out->data, t - 1, n);
        c_last = step_of(r, r->c, t - 1, n);
    }
    layers->begin_step(&run, r->reset == NULL ? NULL : r->reset + t, h_last, c_last, t > 0 ? r->steps : 1);
    const void *bias = is_lstm(r) ? NULL : corral_tape_parameter_data(tape, r->entries.bias_hidden);
    layers->rows_linear(r->sequences, n, wide, run.h_before, r->steps * n,
                        corral_tape_parameter_data(tape, r->entries.weight_hidden),
                        packed_of(tape, r->entries.weight_hidden), r->panels, bias,
                        is_lstm(r) ? run.gates : corral_unconst(run.sums), r->steps * wide);
    if (is_lstm(r))
        layers->lstm_cell(&run);
    else
        layers->gru_cell(&run);
}

static void recurrent_forward(corral_node *node)
{
    const corral_tape *tape = node->tensor.tape;
    const recurrent_record *r = node->kept[0];
    const corral_dtype dtype = node->tensor.dtype;
    corral_kernels_of(dtype)->linear(r->rows, r->in, r->gate_count * r->hidden, r->x->data,
                                     corral_tape_parameter_data(tape, r->entries.weight_input),
                                     packed_of(tape, r->entries.weight_input), first_bias(tape, r, dtype),
                                     CORRAL_LINEAR, r->gates);
    if (r->panels != NULL)
        corral_layers_of(dtype)->linear_panels(r->hidden, r->gate_count * r->hidden,
                                               packed_of(tape, r->entries.weight_hidden), r->panels);
    for (size_t t = 0; t < r->steps; t++)
        forward_step(tape, r, dtype, t);
}

// --- backward ---------------------------------------------------------------------------------------------

/// What backward needs beside the record.
typedef struct recurrent_back {
    char *gates_grad, *sums_grad; // [rows, gate_count * hidden]; the same array for an LSTM
    char *h_carry, *c_carry;      // [sequences, hidden]
} recurrent_back;

static char *zeroed(corral_tape *tape, size_t bytes)
{
    char *memory = corral_tape_scratch(tape, bytes);
    if (memory != NULL) memset(memory, 0, bytes);
    return memory;
}

static bool prepare_back(corral_tape *tape, const recurrent_record *r, recurrent_back *out)
{
    const size_t wide = r->rows * r->gate_count * r->hidden * r->size;
    const size_t state = r->sequences * r->hidden * r->size;
    out->gates_grad = corral_tape_scratch(tape, wide);
    out->sums_grad = is_lstm(r) ? out->gates_grad : corral_tape_scratch(tape, wide);
    out->h_carry = zeroed(tape, state);
    out->c_carry = is_lstm(r) ? zeroed(tape, state) : NULL;
    return tape->status == CORRAL_OK;
}

/// No gradient flows back into what a reset replaced.
static void cut_carries(const recurrent_record *r, const recurrent_back *back, size_t t)
{
    const size_t bytes = r->hidden * r->size;
    for (size_t s = 0; s < r->sequences && r->reset != NULL; s++) {
        if (r->reset[s * r->steps + t] == 0) continue;
        memset(back->h_carry + s * bytes, 0, bytes);
        if (back->c_carry != NULL) memset(back->c_carry + s * bytes, 0, bytes);
    }
}

static void backward_step(const corral_tape *tape, const recurrent_record *r, const recurrent_back *back,
                          corral_dtype dtype, size_t t)
{
    const size_t n = r->hidden, wide = r->gate_count * n;
    corral_cell_run run = run_of(r, t);
    run.h_grad = step_of(r, r->h_out->grad, t, n);
    run.c_grad = r->c_out == NULL ? NULL : step_of(r, r->c_out->grad, t, n);
    run.h_carry = back->h_carry;
    run.c_carry = back->c_carry;
    run.gates_grad = step_of(r, back->gates_grad, t, wide);
    run.sums_grad = step_of(r, back->sums_grad, t, wide);
    if (is_lstm(r))
        corral_layers_of(dtype)->lstm_cell_grad(&run);
    else
        corral_layers_of(dtype)->gru_cell_grad(&run);
    corral_layers_of(dtype)->product(&(corral_product){
        .rows = r->sequences,
        .columns = n,
        .outer = 1,
        .inner = wide,
        .a = run.sums_grad,
        .a_row = r->steps * wide,
        .a_step = 1,
        .b = corral_tape_parameter_data(tape, r->entries.weight_hidden),
        .b_step = n,
        .c = back->h_carry,
        .c_row = n,
    });
    cut_carries(r, back, t);
}

static void add_weight_gradients(const corral_tape *tape, const recurrent_record *r,
                                 const recurrent_back *back, corral_dtype dtype)
{
    const corral_kernels *kernels = corral_kernels_of(dtype);
    const size_t wide = r->gate_count * r->hidden;
    if (tape->gradients == NULL) return;
    kernels->linear_grad_weight(r->rows, r->in, wide, back->gates_grad, r->x->data,
                                corral_tape_parameter_gradient(tape, r->entries.weight_input),
                                corral_tape_parameter_gradient(tape, r->entries.bias_input));
    kernels->linear_grad_weight(r->rows, r->hidden, wide, back->sums_grad, r->h_before,
                                corral_tape_parameter_gradient(tape, r->entries.weight_hidden),
                                corral_tape_parameter_gradient(tape, r->entries.bias_hidden));
}

static void add_gradient(corral_tensor *tensor, const char *from)
{
    void *grad = tensor == NULL ? NULL : corral_tensor_gradient(tensor);
    if (grad != NULL) corral_kernels_of(tensor->dtype)->add(corral_tensor_count(tensor), from, grad);
}

static void add_input_gradient(const corral_tape *tape, const recurrent_record *r, const recurrent_back *back,
                               void *x_grad, corral_dtype dtype)
{
    const size_t wide = r->gate_count * r->hidden;
    if (x_grad == NULL) return;
    corral_layers_of(dtype)->product(&(corral_product){
        .rows = r->rows,
        .columns = r->in,
        .outer = 1,
        .inner = wide,
        .a = back->gates_grad,
        .a_row = wide,
        .a_step = 1,
        .b = corral_tape_parameter_data(tape, r->entries.weight_input),
        .b_step = r->in,
        .c = x_grad,
        .c_row = r->in,
    });
}

static void recurrent_backward(corral_node *node)
{
    corral_tape *tape = node->tensor.tape;
    const recurrent_record *r = node->kept[0];
    const corral_dtype dtype = node->tensor.dtype;
    recurrent_back back;
    if (!prepare_back(tape, r, &back)) return;
    for (size_t t = r->steps; t-- > 0;)
        backward_step(tape, r, &back, dtype, t);
    add_weight_gradients(tape, r, &back, dtype);
    add_input_gradient(tape, r, &back, corral_tensor_gradient(node->a), dtype);
    add_gradient(r->first_hidden, back.h_carry);
    add_gradient(r->first_cell, back.c_carry);
}

/// The layer's own forward computes the cells.
static void cell_forward(corral_node *node)
{
    (void)node;
}

/// The cells' node comes behind the layer's, so it goes backward first, and sees to it that the layer does.
static void cell_backward(corral_node *node)
{
    corral_tensor_gradient(node->a);
}

// --- recording --------------------------------------------------------------------------------------------

static bool has_shape(const corral_param *entry, uint32_t dimension_count, size_t first, size_t second)
{
    return entry->dimension_count == dimension_count && entry->shape[0] == first &&
           (dimension_count == 1 || entry->shape[1] == second);
}

/// The layer's width, from its bias; 0, with the failure recorded, where entries or shapes do not fit.
static size_t hidden_of(const char *name, const corral_tensor *x, const corral_recurrent *e, size_t gates)
{
    corral_tape *tape = x->tape;
    const corral_params *p = tape->params;
    if (!corral_tape_ready(x, NULL, name)) return 0;
    const uint32_t all[] = {e->weight_input, e->weight_hidden, e->bias_input, e->bias_hidden};
    bool known = p != NULL && p->sealed;
    for (size_t i = 0; i < 4 && known; i++)
        known = all[i] < p->entry_count;
    const size_t wide = known ? p->entries[e->bias_input].count : 0;
    const bool fits = known && x->dimension_count == 2 && x->dtype == p->dtype && wide > 0 &&
                      wide % gates == 0 && has_shape(&p->entries[e->bias_input], 1, wide, 0) &&
                      has_shape(&p->entries[e->bias_hidden], 1, wide, 0) &&
                      has_shape(&p->entries[e->weight_hidden], 2, wide, wide / gates) &&
                      has_shape(&p->entries[e->weight_input], 2, wide, x->shape[1]);
    if (fits) return wide / gates;
    corral_tape_fail(
        tape, CORRAL_ERROR_INVALID,
        "%s: needs x [rows, in] and, of the tape's parameters, weights [%zu hidden, in] and [%zu "
        "hidden, hidden] and two biases [%zu hidden]",
        name, gates, gates, gates);
    return 0;
}

static bool check_state(const char *name, const corral_tensor *x, const corral_tensor *state,
                        size_t sequences, size_t hidden)
{
    if (state == NULL) return true;
    if (!corral_tape_ready(x, state, name)) return false;
    if (state->dimension_count == 2 && state->shape[0] == sequences && state->shape[1] == hidden) return true;
    corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "%s: a first state must be [%zu sequences, %zu hidden]",
                     name, sequences, hidden);
    return false;
}

static bool fill_record(const char *name, corral_tensor *x, const corral_sequences *s, recurrent_record *r)
{
    r->hidden = hidden_of(name, x, &r->entries, r->gate_count);
    if (r->hidden == 0) return false;
    r->x = x;
    r->in = x->shape[1];
    r->rows = x->shape[0];
    r->steps = s->steps;
    r->size = corral_dtype_size(x->dtype);
    if (s->steps == 0 || r->rows % s->steps != 0) {
        corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "%s: %zu rows are not whole sequences of %zu steps",
                         name, r->rows, s->steps);
        return false;
    }
    r->sequences = r->rows / s->steps;
    r->reset = s->reset;
    r->first_hidden = s->hidden;
    r->first_cell = is_lstm(r) ? s->cell : NULL;
    return check_state(name, x, r->first_hidden, r->sequences, r->hidden) &&
           check_state(name, x, r->first_cell, r->sequences, r->hidden);
}

static size_t round_up_panel(size_t columns)
{
    return (columns + CORRAL_PANEL - 1) / CORRAL_PANEL * CORRAL_PANEL;
}

static void allocate_record(corral_tape *tape, recurrent_record *r)
{
    const size_t state = r->rows * r->hidden * r->size, wide = r->gate_count * state;
    r->gates = corral_tape_scratch(tape, wide);
    r->h_before = corral_tape_scratch(tape, state);
    if (r->size == sizeof(float) && r->rows >= 64 && r->steps > 1)
        r->panels =
            corral_tape_scratch(tape, r->hidden * round_up_panel(r->gate_count * r->hidden) * sizeof(float));
    r->sums = corral_tape_scratch(tape, is_lstm(r) ? r->gate_count * r->hidden * r->size : wide);
    if (!is_lstm(r)) return;
    r->c_before = corral_tape_scratch(tape, state);
    r->tanh_c = corral_tape_scratch(tape, state);
}

static corral_tensor *record(const char *name, corral_tensor *x, const corral_sequences *sequences,
                             recurrent_record fresh, corral_tensor **out_cell)
{
    corral_tape *tape = x->tape;
    if (out_cell != NULL) *out_cell = &tape->empty;
    if (!fill_record(name, x, sequences, &fresh)) return &tape->empty;
    recurrent_record *r = corral_tape_scratch(tape, sizeof *r);
    if (r == NULL) return &tape->empty;
    *r = fresh;
    allocate_record(tape, r);
    const size_t shape[] = {r->rows, r->hidden};
    corral_node *node = corral_tape_append(tape, x->dtype, 2, shape, x, r->first_hidden);
    if (node == NULL) return &tape->empty;
    corral_node_uses_parameters(node);
    corral_node_reads(node, r->first_cell);
    node->forward = recurrent_forward;
    node->backward = recurrent_backward;
    node->kept[0] = r;
    r->h_out = &node->tensor;
    if (is_lstm(r)) {
        corral_node *cells = corral_tape_append(tape, x->dtype, 2, shape, &node->tensor, NULL);
        if (cells == NULL) return &tape->empty;
        cells->forward = cell_forward;
        cells->backward = cell_backward;
        r->c_out = &cells->tensor;
        r->c = cells->tensor.data;
        if (out_cell != NULL) *out_cell = r->c_out;
    }
    recurrent_forward(node);
    return &node->tensor;
}

corral_tensor *corral_lstm(corral_tensor *x, const corral_recurrent *entries,
                           const corral_sequences *sequences, corral_tensor **out_cell)
{
    return record("lstm", x, sequences, (recurrent_record){.entries = *entries, .gate_count = 4}, out_cell);
}

corral_tensor *corral_gru(corral_tensor *x, const corral_recurrent *entries,
                          const corral_sequences *sequences)
{
    return record("gru", x, sequences, (recurrent_record){.entries = *entries, .gate_count = 3}, NULL);
}

// --- without a tape ---------------------------------------------------------------------------------------

size_t corral_recurrent_scratch(size_t rows, size_t hidden)
{
    return 8 * (rows + 1) * hidden; // an LSTM's gates and bias; a GRU's gates and sums
}

/// An LSTM's sums begin with both biases, as a tape's do.
static void step_linear(const corral_params *params, uint32_t weight, const float *bias, size_t rows,
                        const float *x, float *y)
{
    const corral_param *w = corral_params_entry(params, weight);
    corral_kernels_f32.linear(rows, w->shape[1], w->shape[0], x, NULL, corral_params_packed(params, weight),
                              bias, CORRAL_LINEAR, y);
}

static const float *entry_data(const corral_params *params, uint32_t index)
{
    return (const float *)params->data + corral_params_entry(params, index)->offset;
}

static void step_hidden(const corral_params *params, uint32_t weight, const float *bias, size_t rows,
                        const float *h, float *y)
{
    const corral_param *w = corral_params_entry(params, weight);
    corral_layers_f32.rows_linear(rows, w->shape[1], w->shape[0], h, w->shape[1], entry_data(params, weight),
                                  corral_params_packed(params, weight), NULL, bias, y, w->shape[0]);
}

void corral_lstm_step(const corral_params *params, const corral_recurrent *entries, size_t rows,
                      const float *x, const uint8_t *reset, float *hidden, float *cell, float *scratch)
{
    CORRAL_ASSERT(params->sealed && params->dtype == CORRAL_F32);
    const size_t n = corral_params_entry(params, entries->weight_hidden)->shape[1];
    float *bias = scratch, *gates = bias + 4 * n;
    const float *b_i = entry_data(params, entries->bias_input),
                *b_h = entry_data(params, entries->bias_hidden);
    for (size_t i = 0; i < 4 * n; i++)
        bias[i] = b_i[i] + b_h[i];
    const corral_cell_run run = {
        .sequences = rows,
        .stride = 1,
        .hidden = n,
        .gates = gates,
        .h_before = hidden,
        .c_before = cell,
        .h = hidden,
        .c = cell,
        .tanh_c = hidden,
    };
    for (size_t r = 0; r < rows && reset != NULL; r++) {
        if (reset[r] == 0) continue;
        memset(hidden + r * n, 0, n * sizeof *hidden);
        memset(cell + r * n, 0, n * sizeof *cell);
    }
    step_linear(params, entries->weight_input, bias, rows, x, gates);
    step_hidden(params, entries->weight_hidden, NULL, rows, hidden, gates);
    corral_layers_f32.lstm_cell(&run);
}

void corral_gru_step(const corral_params *params, const corral_recurrent *entries, size_t rows,
                     const float *x, const uint8_t *reset, float *hidden, float *scratch)
{
    CORRAL_ASSERT(params->sealed && params->dtype == CORRAL_F32);
    const size_t n = corral_params_entry(params, entries->weight_hidden)->shape[1];
    float *gates = scratch, *sums = gates + 3 * rows * n;
    const corral_cell_run run = {
        .sequences = rows,
        .stride = 1,
        .hidden = n,
        .gates = gates,
        .sums = sums,
        .h_before = hidden,
        .h = hidden,
    };
    for (size_t r = 0; r < rows && reset != NULL; r++) {
        if (reset[r] != 0) memset(hidden + r * n, 0, n * sizeof *hidden);
    }
    step_linear(params, entries->weight_input, entry_data(params, entries->bias_input), rows, x, gates);
    step_hidden(params, entries->weight_hidden, entry_data(params, entries->bias_hidden), rows, hidden, sums);
    corral_layers_f32.gru_cell(&run);
}
