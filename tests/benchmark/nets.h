// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The networks that nets_bench measures, which peers/torch_nets.py has as well.
///
///   ppo       4-64-64-{2,1}, tanh, shared trunk; the loss of PPO
///   humanoid  376-256-256-17, ReLU; mean squared error
///   cnn       the Nature DQN network on 84 x 84 x 4, 6 actions; the loss of Q-learning
///   lstm      an LSTM of 128 units on sequences of 16 steps, 6 actions; the loss of Q-learning
#ifndef CORRAL_BENCHMARK_NETS_H
#define CORRAL_BENCHMARK_NETS_H

#include "corral/core/tensor.h"

enum { NET_MOST_ROWS = 4096 };

typedef struct net {
    const char *name;
    size_t in;               // numbers of a row
    size_t most_rows, piece; // piece: rows that are recorded together, so that they stay in the cache
    bool short_lanes;        // a row is work enough
    double max_grad_norm;    // 0: no clipping
    double macs, first_macs; // multiply-adds of a row, and those of layers whose input needs no gradient
    void (*add_entries)(corral_params *params);
    /// The loss of rows first .. first+count-1 of `rows`, as a share of the whole minibatch's.
    corral_tensor *(*loss)(corral_tape *tape, const float *x, size_t first, size_t count, size_t rows);
    /// Forward alone, without a tape.
    void (*act)(const corral_params *params, const float *x, size_t rows);
} net;

/// NULL where there is none of the name's beginning.
const net *net_of(const char *name);

/// Ends the program where something has failed.
void net_must(corral_status status);

#endif
