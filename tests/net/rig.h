// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Nodes, drivers and what they leave behind.
#ifndef CORRAL_TEST_NET_RIG_H
#define CORRAL_TEST_NET_RIG_H

#include "../actors/test_worker.h"
#include "test.h"

#include "corral/base/clock.h"
#include "corral/net/cluster.h"

#include <stdbool.h>
#include <sys/types.h>

/// A runtime folder for this test alone; the programs; the mark in the environment.
void rig_begin(void);
/// Nothing is left: no process within 5 s, no file.
void rig_end(void);

/// Marked processes but this one.
unsigned rig_processes(void);
bool rig_processes_become(unsigned count, double seconds);
/// Of marked processes that run this program ("corral-node", "actors_test_worker"), at most `limit`; returns
/// how many.
unsigned rig_find(const char *program, pid_t *out_pids, unsigned limit);
unsigned rig_descriptors(void);

/// Starts a program and waits for its first line (`line` of `size` bytes). `arguments` end with NULL.
pid_t rig_start(const char *const *arguments, char *line, size_t size);
/// Starts a head at a free port with `slots`; its address goes to `address` (64 bytes).
pid_t rig_head(const char *slots, const char *faults, char *address);
pid_t rig_member(const char *head, const char *slots);
/// Waits for the end of a process; the wait status.
int rig_wait(pid_t pid);
void rig_stop(pid_t pid); // SIGTERM, and it ends well

/// The bytes that follow a fragment's head.
static inline const unsigned char *pattern_of(const test_fragment *fragment)
{
    return (const unsigned char *)(fragment + 1);
}

/// A cluster with one group of class `class_name`, `count` actors.
typedef struct rig_run {
    corral_cluster *cluster;
    corral_group *group;
    unsigned ready, lost, down, failed, fragments, local, remote;
    char reason[2048];    // of the last LOST, DOWN or FAILED
    uint64_t sum;         // of all fragments' bytes
    test_request request; // of the next leases
    bool ready_actor[8];
} rig_run;

corral_group_config rig_group(const char *class_name, uint32_t count);
void rig_open(rig_run *run, const corral_cluster_config *cluster, const corral_group_config *group);
void rig_close(rig_run *run);
/// Handles events until `*counter` has reached `value`: checks fragments and leases anew. False after
/// `seconds`.
bool rig_until(rig_run *run, const unsigned *counter, unsigned value, double seconds);
void rig_publish(rig_run *run, uint64_t version);

#endif
