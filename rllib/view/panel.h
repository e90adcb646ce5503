// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The column beside the picture: return, value, action probabilities, observation.
#ifndef CORRAL_VIEW_PANEL_H
#define CORRAL_VIEW_PANEL_H

#include "player.h"

/// `scale` pixels per unit of the design. What does not fit the height is left out.
void panel_paint(const player *player, canvas *canvas, fonts *fonts, box area, float scale, bool human);

#endif
