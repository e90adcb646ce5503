#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# The engine builds for aarch64, in plain C, with warnings as errors.
set -uo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compiler=$(type -P aarch64-linux-gnu-gcc) || {
    echo "skipped: no aarch64-linux-gnu-gcc, which Debian has in gcc-aarch64-linux-gnu"
    exit 77
}
cmake -S "$CORRAL_SOURCE/core" -B "$folder/arm" -G Ninja -DCORRAL_WERROR=ON -DCORRAL_TESTS=OFF \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER="$compiler" >"$folder/log" 2>&1 &&
    cmake --build "$folder/arm" >>"$folder/log" 2>&1 || {
    tail -n 30 "$folder/log"
    echo "core/ does not build for aarch64"
    exit 1
}
echo "core/ builds for aarch64"
