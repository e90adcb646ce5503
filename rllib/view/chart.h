// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Curves as a chart, on paper or in a terminal.
#ifndef CORRAL_VIEW_CHART_H
#define CORRAL_VIEW_CHART_H

#include "curves.h"
#include "sheet.h"

enum { CHART_WIDTH = 960, CHART_HEIGHT = 540 };

typedef struct chart {
    const curves *curves;
    const char *title, *x_label;
} chart;

void chart_draw(const chart *chart, sheet *sheet);
/// With dots of Braille letters, `columns` wide; colours where `color`.
void chart_print(const chart *chart, FILE *out, uint32_t columns, bool color);

/// Steps of 1, 2 or 5 times a power of ten: the one that cuts low..high into about `parts`.
double chart_step(double low, double high, int parts);
/// "20k", "1.5M", "0.05". Writes into `text`.
const char *chart_number(double value, char *text, size_t size);

#endif
