// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Matrices of `real` put into panels of CORRAL_PANEL columns (layer_table.h).

/// Elements of the panels of a matrix [rows, columns].
static inline size_t panels_count(size_t rows, size_t columns)
{
    return rows * ((columns + CORRAL_PANEL - 1) / CORRAL_PANEL * CORRAL_PANEL);
}

/// `from` [rows, columns], its rows `step` apart; columns that are missing in the last panel are left alone.
static inline void to_panels(size_t rows, size_t columns, const real *from, size_t step, real *panels)
{
    for (size_t n = 0; n < columns; n += CORRAL_PANEL) {
        const size_t width = columns - n < CORRAL_PANEL ? columns - n : CORRAL_PANEL;
        for (size_t k = 0; k < rows; k++, panels += CORRAL_PANEL)
            memcpy(panels, from + k * step + n, width * sizeof *panels);
    }
}
