// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The colours of everything that the viewer draws by itself.
#ifndef CORRAL_VIEW_THEME_H
#define CORRAL_VIEW_THEME_H

#define THEME_PAGE   0xeef1f5ffu
#define THEME_CARD   0xffffffffu
#define THEME_EDGE   0xdde3eaffu
#define THEME_TRACK  0xe9eef3ffu
#define THEME_INK    0x22303fffu
#define THEME_SOFT   0x5b6877ffu
#define THEME_FAINT  0x93a0adffu
#define THEME_ACCENT 0x3d7ea6ffu
#define THEME_PALE   0xa9c8dcffu
#define THEME_WARM   0xc8553dffu
#define THEME_GREEN  0x4f9d69ffu

#endif
