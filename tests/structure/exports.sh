#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# libcorral.so shows names that begin with corral_ and nothing else, so do the layers it is made of, and a rollout
# worker maps neither gRPC nor SDL nor CUDA.
set -uo pipefail
failures=0
complain() { printf '%s\n' "$1"; failures=$((failures + 1)); }

library=$CORRAL_BUILD/lib/libcorral.so
shown=$(nm -D --defined-only "$library" | awk '{print $3}')
for name in corral_trainer_create corral_policy_act corral_env_find corral_group_next corral_tape_create; do
    grep -qx "$name" <<<"$shown" || complain "$library: lacks $name"
done
while IFS= read -r name; do complain "$library: shows $name"; done < <(grep -v '^corral_' <<<"$shown")

# In the static layers too, since programs link them: a name without the prefix may clash with somebody else's. Names of
# generated messages begin with Corral or corral.
while IFS= read -r archive; do
    while IFS= read -r name; do
        complain "${archive##*/}: global name $name does not begin with corral_"
    done < <(nm -g --defined-only "$archive" 2>/dev/null | awk 'NF == 3 {print $3}' |
        grep -vE '^corral_|^__(asan|odr|tsan|ubsan)|^grpc__health' | sort -u)
done < <(find "$CORRAL_BUILD" -name 'libcorral_*.a')

needed=$(ldd "$CORRAL_BIN/corral-worker")
[[ $needed == *libc.so* ]] || complain "ldd tells nothing about corral-worker"
while IFS= read -r line; do complain "corral-worker maps $line"; done < <(grep -E 'libgrpc|libSDL|libcuda|libstdc' <<<"$needed")

echo "$(wc -l <<<"$shown") exported names, $failures complaints"
[[ $failures == 0 ]]
