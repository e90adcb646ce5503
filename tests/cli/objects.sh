#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# A program of tasks at a node that was started by hand: `corral status` says what it uses and what has to wait, behind
# whom, `corral objects` what it has; the node stays when it has ended.
set -uo pipefail
. "$(dirname "$0")/common.sh"
export XDG_RUNTIME_DIR=$out/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
unset CORRAL_TOKEN

flags=(-std=c17 -shared -fPIC -D_GNU_SOURCE "-I$CORRAL_SOURCE/core/base/include" "-I$CORRAL_SOURCE/actors/include")
[[ $CORRAL_SANITIZER == address ]] && flags+=(-fsanitize=address,undefined)
[[ $CORRAL_SANITIZER == thread ]] && flags+=(-fsanitize=thread)
for example in sleep counter; do
    cc "${flags[@]}" -o $example.so "$CORRAL_SOURCE/examples/runtime/$example.c" || fail "$example.c does not compile"
done

"$corral" node --head --slots 0.2 --resources licence=2 --store 64 >head.log 2>&1 </dev/null &
node=$!
trap 'kill $node $program 2>/dev/null; wait $node $program 2>/dev/null; rm -rf "$out"' EXIT
until grep -q '^head at' head.log; do
    kill -0 $node 2>/dev/null || fail "the node does not start: $(cat head.log)"
    sleep 0.05
done
head=$(sed -n 's/^head at \([^,]*\),.*/\1/p' head.log)

"$corral" run ./sleep.so together --cluster "$head" >program.out 2>program.log </dev/null &
program=$!
for _ in $(seq 200); do # two sleep, eight wait
    run status --cluster "$head"
    grep -q 'wait for 0.1 cpus, the first is task "doze"' "$out/stdout" && break
    kill -0 $program 2>/dev/null || fail "the program ended too early: $(cat program.log)"
done
expect_out 'wait for 0.1 cpus, the first is task "doze"'
expect_out 'held by task "doze" (process '
expect_out 'in use: 0.2/0.2 cpus, 0/2 licence'
run objects --cluster "$head"
expect_code 0
expect_out 'task "doze"'
expect_out 'of 64.0 MiB'
grep -Eq "pending +task \"doze\" +$program\$" "$out/stdout" || fail "objects does not say that $program holds them"
run status --cluster "$head" --json
expect_out '"runtime":{"resources":[{"name":"cpus","total":0.2'

kill -INT $program
wait $program 2>/dev/null
for _ in $(seq 100); do # what was the program's is gone, the node is not
    run objects --cluster "$head" --json
    expect_code 0
    grep -q '"object_count":0,' "$out/stdout" && break
done
expect_out '"object_count":0,'
run run ./counter.so count --cluster "$head"
expect_code 0
expect_out "counted to 1000"
