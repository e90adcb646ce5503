// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// corral-worker: one actor process. The agent starts it; there is nothing here for people to call.
#include "rollout/rollout.h"

int main(void)
{
    return corral_actor_main((const corral_actor_class *const[]){&rollout_worker_class, NULL});
}
