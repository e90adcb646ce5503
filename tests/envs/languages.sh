#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Environments in other languages: each example, built with the line that stands at its head, passes the examiner and is
# learned.
set -uo pipefail
[[ ${CORRAL_SANITIZER:-} == thread ]] && { echo "skipped: gRPC is not built for ThreadSanitizer"; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
ln -s "$CORRAL_SOURCE/envs" envs
ln -s "$CORRAL_SOURCE/examples" examples
fail() { echo "FAILED: $*"; exit 1; }

plays() { # plays COMPILER FILE ID GOAL
    local compiler=$1 file=$2 id=$3 goal=$4 line library=${2%.*}.so
    type -P "$compiler" >/dev/null || { echo "skipped, there is no $compiler here: $file"; return; }
    line=$(grep -oE "${compiler//+/\\+} -O.* -o $library" "examples/$file") || fail "$file: no line that builds it"
    eval "$line" >build.log 2>&1 || fail "$file: $line: $(cat build.log)"
    "$CORRAL_BIN/corral" env check --steps 2000 "./$library:$id" >check.log || fail "$file: $(cat check.log)"
    "$CORRAL_BIN/corral" train "env=./$library:$id" stop.steps=200000 stop.return="$goal" --workers 0 --quiet --out "run-$id" ||
        fail "$file: it is not learned: code $?"
    echo "$file: learned"
}
plays c++ catch.cpp Catch-v0 0.9
plays rustc beacon.rs Beacon-v0 0.8
