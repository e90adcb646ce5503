// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A trained agent in a program of one's own: reads observations of four numbers, a line each, as CartPole's
/// are, and prints the action for each.
///
///     cc act.c $(pkg-config --cflags --libs corral-policy) -o act
///     echo 0.01 0.02 -0.03 0.04 | ./act runs/cartpole-v1-ppo-1/checkpoints/30720
#include "corral/policy/agent.h"

#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    corral_agent *agent;
    if (argc != 2 || corral_agent_load(argv[1], &agent) != CORRAL_OK) {
        fprintf(stderr, "act: %s\n", argc == 2 ? corral_last_error() : "needs a checkpoint's folder");
        return 2;
    }
    float observation[4];
    int32_t action;
    int status = corral_agent_observation_bytes(agent) == sizeof observation ? 0 : 2;
    while (status == 0 &&
           scanf("%f %f %f %f", &observation[0], &observation[1], &observation[2], &observation[3]) == 4) {
        if (corral_agent_act(agent, observation, &action) != CORRAL_OK) status = 1;
        printf("%d\n", (int)action);
    }
    corral_agent_destroy(agent);
    return status;
}
