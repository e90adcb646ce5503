// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// corral-worker: one actor process, or one that runs tasks of a library. The agent starts it; there is
/// nothing here for people to call.
#include "rollout/rollout.h"

#include "corral/actors/client.h"

int main(void)
{
    if (corral_is_worker()) return corral_worker_main(NULL);
    return corral_actor_main((const corral_actor_class *const[]){&rollout_worker_class, NULL});
}
