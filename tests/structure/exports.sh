#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# libcorral.so shows names that begin with corral_ and nothing else (the static layers are not installed), and a
# rollout worker maps neither gRPC nor SDL nor CUDA.
set -uo pipefail
failures=0
complain() { printf '%s\n' "$1"; failures=$((failures + 1)); }

library=$CORRAL_BUILD/lib/libcorral.so
shown=$(nm -D --defined-only "$library" | awk '{print $3}')
for name in corral_trainer_create corral_policy_act corral_env_find corral_group_next corral_tape_create; do
    grep -qx "$name" <<<"$shown" || complain "$library: lacks $name"
done
while IFS= read -r name; do complain "$library: shows $name"; done < <(grep -v '^corral_' <<<"$shown")

needed=$(ldd "$CORRAL_BIN/corral-worker")
[[ $needed == *libc.so* ]] || complain "ldd tells nothing about corral-worker"
unwanted='libgrpc|libSDL|libcuda'
[[ -n $CORRAL_SANITIZER ]] || unwanted+='|libstdc' # a sanitizer brings this one along
while IFS= read -r line; do complain "corral-worker maps $line"; done < <(grep -E "$unwanted" <<<"$needed")

echo "$(wc -l <<<"$shown") exported names, $failures complaints"
[[ $failures == 0 ]]
