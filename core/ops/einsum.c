// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Einstein's notation as a product of matrices. The letters of two tensors fall into four groups: those of
// both and of the result (batch), those of both that are summed over (k), and those of one alone that the
// result names (m of a, n of b). What neither the other tensor nor the result names is summed up first. Then
//
//     a -> [batch, m, k],   b -> [batch, k, n],   bmm -> [batch, m, n] -> the order of the result
//
// where a group of several letters is one dimension in between.

#include "corral/core/layers.h"
#include "corral/core/shapes.h"
#include "tensor/tape.h"

#include <ctype.h>
#include <string.h>

enum { MOST = CORRAL_MAX_DIMENSIONS };

/// The letters of a tensor's dimensions.
typedef struct letters {
    char at[MOST + 1];
} letters;

/// A tensor whose dimensions have letters.
typedef struct labelled {
    corral_tensor *tensor;
    letters names;
} labelled;

static bool has(const letters *l, char letter)
{
    return letter != 0 && strchr(l->at, letter) != NULL;
}

/// Reads letters up to `end`; NULL where they are too many, no letters, or one stands twice.
static const char *read_letters(const char *from, const char *ends, letters *out)
{
    size_t count = 0;
    memset(out, 0, sizeof *out);
    for (; *from != 0 && strchr(ends, *from) == NULL; from++) {
        if (count == MOST || !isalpha((unsigned char)*from) || has(out, *from)) return NULL;
        out->at[count++] = *from;
    }
    return from;
}

/// "ab,bc->ac" or, for one tensor, "ab->ba". False where it is neither.
static bool read_equation(const char *equation, bool two, letters *a, letters *b, letters *result)
{
    memset(b, 0, sizeof *b);
    const char *at = read_letters(equation, ",-", a);
    if (at == NULL) return false;
    if (two && (*at++ != ',' || (at = read_letters(at, "-", b)) == NULL)) return false;
    if (strncmp(at, "->", 2) != 0 || (at = read_letters(at + 2, "", result)) == NULL) return false;
    for (const char *r = result->at; *r != 0; r++) {
        if (!has(a, *r) && !has(b, *r)) return false;
    }
    return true;
}

/// The elements that `letter` counts; 0 with a letter that `x` does not have.
static size_t size_of(const labelled *x, char letter)
{
    const char *found = strchr(x->names.at, letter);
    return found == NULL ? 0 : x->tensor->shape[found - x->names.at];
}

static bool sizes_agree(const labelled *a, const labelled *b)
{
    for (const char *l = a->names.at; *l != 0; l++) {
        if (has(&b->names, *l) && size_of(a, *l) != size_of(b, *l)) return false;
    }
    return true;
}

/// Sums over what neither `other` nor `result` names.
static void sum_up(labelled *x, const letters *other, const letters *result)
{
    uint32_t dimensions = 0, kept = 0;
    letters names = {{0}};
    for (uint32_t i = 0; i < x->tensor->dimension_count; i++) {
        const char letter = x->names.at[i];
        if (has(other, letter) || has(result, letter))
            names.at[kept++] = letter;
        else
            dimensions |= CORRAL_DIMENSION(i);
    }
    if (dimensions == 0) return;
    x->tensor = corral_sum_over(x->tensor, dimensions, false);
    x->names = names;
}

/// `x` in the order of `names`, which are its letters.
static corral_tensor *in_order(const labelled *x, const letters *names)
{
    uint32_t order[MOST];
    for (uint32_t i = 0; names->at[i] != 0; i++)
        order[i] = (uint32_t)(strchr(x->names.at, names->at[i]) - x->names.at);
    return strcmp(x->names.at, names->at) == 0 ? x->tensor : corral_permute(x->tensor, order);
}

/// Appends the letters of `from` that are in `other` (or are not) and in `result` (or are not), and returns
/// the product of their sizes.
static size_t take(const labelled *from, const letters *other, bool in_other, const letters *result,
                   bool in_result, letters *out)
{
    size_t product = 1, count = strlen(out->at);
    for (const char *l = from->names.at; *l != 0; l++) {
        if (has(other, *l) != in_other || has(result, *l) != in_result || count == MOST) continue;
        out->at[count++] = *l;
        product *= size_of(from, *l);
    }
    return product;
}

static corral_tensor *product_of(const labelled *a, const labelled *b, const letters *result)
{
    letters of_a = {{0}}, of_b = {{0}}, of_y = {{0}};
    const size_t batch = take(a, &b->names, true, result, true, &of_a);
    of_b = of_y = of_a;
    const size_t m = take(a, &b->names, false, result, true, &of_a);
    const size_t k = take(a, &b->names, true, result, false, &of_a);
    take(a, &b->names, true, result, false, &of_b);
    const size_t n = take(b, &a->names, false, result, true, &of_b);
    take(a, &b->names, false, result, true, &of_y);
    take(b, &a->names, false, result, true, &of_y);
    corral_tensor *left = corral_reshape(in_order(a, &of_a), 3, (const size_t[]){batch, m, k});
    corral_tensor *right = corral_reshape(in_order(b, &of_b), 3, (const size_t[]){batch, k, n});
    size_t shape[MOST];
    uint32_t count = 0;
    for (const char *l = of_y.at; *l != 0; l++)
        shape[count++] = has(&a->names, *l) ? size_of(a, *l) : size_of(b, *l);
    const labelled y = {corral_reshape(corral_bmm(left, right, false), count, shape), of_y};
    return in_order(&y, result);
}

corral_tensor *corral_einsum(const char *equation, corral_tensor *a, corral_tensor *b)
{
    corral_tape *tape = a->tape;
    labelled left = {.tensor = a}, right = {.tensor = b};
    letters result;
    if (!corral_tape_ready(a, b, "einsum")) return &tape->empty;
    if (!read_equation(equation, b != NULL, &left.names, &right.names, &result) ||
        strlen(left.names.at) != a->dimension_count ||
        (b != NULL && (strlen(right.names.at) != b->dimension_count || !sizes_agree(&left, &right))))
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                                "einsum: \"%s\" does not fit: it needs one letter for each dimension of each "
                                "tensor, each once, equal sizes under equal letters, and a result of them",
                                equation);
    sum_up(&left, &right.names, &result);
    if (b == NULL) return in_order(&left, &result);
    sum_up(&right, &left.names, &result);
    if (tape->status != CORRAL_OK) return &tape->empty;
    return product_of(&left, &right, &result);
}
