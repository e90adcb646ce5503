#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# CartPole is solved with updates on a device, PPO in both precisions and DQN. The device is the shim.
set -uo pipefail
export CORRAL_CUDA_LIBRARY=$CORRAL_BUILD/tests/libcorral_shim.so
[[ -e $CORRAL_CUDA_LIBRARY ]] || { echo "skipped: this build has no shim"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
run=0
for words in "cartpole-ppo.yaml" "cartpole-ppo.yaml precision=bf16" "cartpole-dqn.yaml"; do
    run=$((run + 1))
    # shellcheck disable=SC2086
    "$CORRAL_BIN/corral" train "$CORRAL_SOURCE"/examples/$words device=cuda workers=0 --out "$out/$run" </dev/null || {
        echo "$words: not solved on a device"
        exit 1
    }
    grep -q "learning on the CPU, through the shim" "$out/$run/log.txt" || { echo "$words: it did not learn there"; exit 1; }
done
