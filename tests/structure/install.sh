#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Installs into a folder of its own, moves it, builds examples/train.c against it through pkg-config and through
# find_package, and trains with both, and with the installed program: workers must be found there.
set -uo pipefail
[[ -z $CORRAL_SANITIZER ]] || { echo "skipped: an installed library has no sanitizer"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }

cmake --install "$CORRAL_BUILD" --prefix "$work/first" >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/corral"
prefix=$work/corral
pc=$(find "$prefix" -name corral.pc)
library=${pc%/pkgconfig/*}
[[ -f $library/libcorral.so ]] || fail "no libcorral.so beside $pc"
grep -rlF "$CORRAL_SOURCE" "$prefix/include" "$library/cmake" "$pc" && fail "an installed file names the source folder"

export PKG_CONFIG_PATH=$library/pkgconfig
# shellcheck disable=SC2046 # several words are what pkg-config prints
cc -std=c17 -Wall -Werror "$CORRAL_SOURCE/examples/train.c" -o "$work/train-pc" \
    $(pkg-config --cflags --libs corral) "-Wl,-rpath,$library" || fail "examples/train.c does not build through pkg-config"

mkdir "$work/project"
cp "$CORRAL_SOURCE/examples/train.c" "$work/project/"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(train LANGUAGES C)
find_package(corral 0.1 REQUIRED)
add_executable(train train.c)
target_link_libraries(train PRIVATE corral::corral)
END
if ! { cmake -S "$work/project" -B "$work/project/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" &&
    cmake --build "$work/project/build"; } >"$work/log" 2>&1; then
    cat "$work/log"
    fail "find_package(corral) does not work"
fi

# The embeddable policy: small, free of gRPC, and enough for a program that plays.
policy_library=$library/libcorral_policy.so
[[ -f $policy_library ]] || fail "no libcorral_policy.so beside $pc"
strip -o "$work/stripped.so" "$policy_library"
[[ $(stat -c %s "$work/stripped.so") -lt 1000000 ]] || fail "libcorral_policy.so has a megabyte or more"
readelf -d "$policy_library" | grep -q 'NEEDED.*grpc' && fail "libcorral_policy.so needs gRPC"
# shellcheck disable=SC2046
cc -std=c17 -Wall -Werror "$CORRAL_SOURCE/examples/act.c" -o "$work/act" \
    $(pkg-config --cflags --libs corral-policy) "-Wl,-rpath,$library" || fail "examples/act.c does not build through pkg-config"

cd "$work" || exit 2
for program in "$work/train-pc" "$work/project/build/train"; do
    timeout 60 "$program" || fail "$program ended with $?"
done
timeout 30 "$prefix/bin/corral" train env=CartPole-v1 --workers 2 stop.steps=4096 --out run --quiet </dev/null ||
    fail "the installed corral ended with $?"
checkpoint=$(find run/checkpoints -mindepth 1 -maxdepth 1 -type d | head -n 1)
actions=$(printf '0 0 0.2 1\n0 0 -0.2 -1\n' | ./act "$checkpoint") || fail "act ended with $?"
[[ $(wc -l <<<"$actions") == 2 && $actions != *[!01[:space:]]* ]] || fail "act printed $actions"
./act nowhere 2>"$work/log" && fail "act plays without a checkpoint"
grep -q nowhere "$work/log" || fail "act does not say what is missing"
timeout 30 "$prefix/bin/corral" eval run --episodes 5 </dev/null || fail "corral eval ended with $?"
