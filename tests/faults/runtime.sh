#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# The processes around a program of tasks die: its agent, the agent's spawner, the driver itself. The program ends with a
# sentence, and nothing is left.
. "$(dirname "$0")/common.sh"
flags=(-std=c17 -shared -fPIC -D_GNU_SOURCE "-I$CORRAL_SOURCE/core/base/include" "-I$CORRAL_SOURCE/actors/include")
[ "$CORRAL_SANITIZER" = address ] && flags+=(-fsanitize=address,undefined)
[ "$CORRAL_SANITIZER" = thread ] && flags+=(-fsanitize=thread)
cc "${flags[@]}" -o "$out/sleep.so" "$CORRAL_SOURCE/examples/runtime/sleep.c" || fail "sleep.c does not compile"

child() { pgrep -P "$1" | head -n 1; }
one_worker() { pgrep -x corral-worker >/dev/null && [ -n "$(ours | xargs -r ps -o comm= -p | grep corral-worker)" ]; }
start() { # one task after the other, for ten seconds
    "$corral" run "$out/sleep.so" together --cpus 0.1 >"$out/stdout" 2>"$out/log" </dev/null &
    run=$!
    wait_for 10 one_worker || fail "no worker: $(cat "$out/log")"
}
ended_well() { # WORDS...
    command="corral run"
    wait $run
    code=$?
    expect_code 3
    expect_words "$@"
}

start
kill -9 "$(child $run)"
ended_well 'task "together": the agent is gone'
nothing_left "the agent killed"

start
kill -9 "$(child "$(child $run)")"
ended_well 'task "together": the agent is gone'
nothing_left "the spawner killed"

start
kill -9 $run
wait $run 2>/dev/null
nothing_left "the driver killed"

start
kill -INT $run
wait $run 2>/dev/null
nothing_left "the driver interrupted"
