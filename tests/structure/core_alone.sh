#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# The engine alone: core/ configures, builds and passes its tests without the rest of the tree.
set -uo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake -S "$CORRAL_SOURCE/core" -B "$folder/own" -G Ninja -DCORRAL_WERROR=ON >"$folder/log" 2>&1 &&
    cmake --build "$folder/own" >>"$folder/log" 2>&1 ||
    { tail -n 30 "$folder/log"; echo "core/ does not build alone"; exit 1; }
(cd "$folder/own" && ctest -j2 --output-on-failure) || { echo "core/ fails its tests alone"; exit 1; }
if grep -rlq "grpc\|SDL\|yaml\|cjson" "$folder/own/build.ninja"; then
    echo "core/ alone looks for a library that it does not need"
    exit 1
fi
echo "core/ stands alone"
