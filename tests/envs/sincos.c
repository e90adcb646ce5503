// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The many-at-once sin and cos against the C library's, bit for bit: a few million random angles of several
// sizes, and the angles where something changes.

#include "../../envs/classic/sincos.h"

#include "bits.h"

#include "corral/base/rng.h"

#include "test.h"

enum { MANY = 4096 };

static double angle[MANY], sine[MANY], cosine[MANY];

/// How many of the first `count` angles differ from the library's sin and cos.
static size_t count_different(size_t count)
{
    corral_sincos(angle, sine, cosine, count);
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        const double s = sin(angle[i]), c = cos(angle[i]);
        different += !same_bytes(&s, &sine[i], sizeof s) || !same_bytes(&c, &cosine[i], sizeof c);
    }
    return different;
}

static void random_angles(void)
{
    const double sizes[] = {1e-9, 1e-3, 0.02, 0.1, 0.126, 0.21, 0.25, 0.26, 3, 1e6};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t different = 0;
        for (uint64_t round = 0; round < 100; round++) {
            for (uint64_t i = 0; i < MANY; i++)
                angle[i] = sizes[k] * (2 * corral_stream_double(k + 1, round * MANY + i) - 1);
            different += count_different(MANY);
        }
        if (different != 0) fprintf(stderr, "|angle| < %g: %zu differ\n", sizes[k], different);
        CU_ASSERT_EQUAL(different, 0);
    }
}

/// Where the library changes its method, and around the end of our own range.
static void angles_around(void)
{
    const double centres[] = {0x1p-27, 0x1p-26, 0.0078125, 0.0625, 0.125, 0.126, 0.20943951023931953,
                              0.25,    0.855469};
    for (size_t k = 0; k < sizeof centres / sizeof *centres; k++) {
        double up = centres[k], down = centres[k];
        for (size_t i = 0; i + 1 < MANY; i += 2) {
            angle[i] = up = nextafter(up, INFINITY);
            angle[i + 1] = down = -nextafter(fabs(down), 0);
        }
        CU_ASSERT_EQUAL(count_different(MANY), 0);
    }
}

static void special_angles(void)
{
    const double special[] = {0.0, -0.0, 5e-324, -5e-324, 1e-308, 1e300, 0.25, -0.25};
    memcpy(angle, special, sizeof special);
    CU_ASSERT_EQUAL(count_different(sizeof special / sizeof *special), 0);
    angle[0] = NAN;
    angle[1] = INFINITY;
    angle[2] = 0.1;
    corral_sincos(angle, sine, cosine, 3);
    CU_ASSERT_TRUE(isnan(sine[0]) && isnan(cosine[0]) && isnan(sine[1]) && isnan(cosine[1]));
    CU_ASSERT_EQUAL(sine[2], sin(angle[2]));
}

static void every_count(void)
{
    for (size_t count = 0; count <= 200; count++) {
        for (size_t i = 0; i < MANY; i++)
            angle[i] = 0.2 * corral_stream_double(count, i), sine[i] = cosine[i] = 7;
        CU_ASSERT_EQUAL(count_different(count), 0);
        CU_ASSERT_TRUE(sine[count] == 7 && cosine[count] == 7);
    }
}

int main(void)
{
    return test_run("sincos", (test_case[]){{"random angles", random_angles},
                                            {"angles around changes", angles_around},
                                            {"special angles", special_angles},
                                            {"every count", every_count},
                                            {NULL, NULL}});
}
