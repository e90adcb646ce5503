#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# A task that takes more memory than its node allows is ended before the kernel ends anybody: one that may be tried again
# is, and one that may not is an error that says what it held.
set -uo pipefail
. "$(dirname "$0")/common.sh"
export XDG_RUNTIME_DIR=$out/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
unset CORRAL_TOKEN

cat >hog.c <<'C'
#include "corral/actors/client.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static corral_status hog(corral_call *call)
{
    if (corral_call_attempt(call) > 0) return corral_call_return(call, "modest\n", 7);
    char *volatile memory = malloc(200 << 20);
    if (memory != NULL) memset(memory, 1, 200 << 20);
    for (;;) pause();
}
static corral_status run(corral_call *call, unsigned retries)
{
    corral_task_options options = corral_task_options_default();
    options.max_retries = retries;
    corral_ref *ref = NULL;
    corral_bytes value;
    corral_status status = corral_task_submit(corral_call_client(call), "hog", NULL, 0, &options, &ref);
    if (status == CORRAL_OK) status = corral_get(ref, -1, &value);
    if (status == CORRAL_OK) status = corral_call_return(call, value.data, value.size);
    corral_release(ref);
    return status;
}
static corral_status once(corral_call *call) { return run(call, 0); }
static corral_status twice(corral_call *call) { return run(call, 1); }
static const corral_named_function functions[] = {{"hog", hog}, {"once", once}, {"twice", twice}, {NULL, NULL}};
const corral_library corral_library_table = {CORRAL_LIBRARY_ABI, functions, NULL};
C
flags=(-std=c17 -shared -fPIC -D_GNU_SOURCE "-I$CORRAL_SOURCE/core/base/include" "-I$CORRAL_SOURCE/actors/include")
[[ $CORRAL_SANITIZER == address ]] && flags+=(-fsanitize=address,undefined)
[[ $CORRAL_SANITIZER == thread ]] && flags+=(-fsanitize=thread)
cc "${flags[@]}" -o hog.so hog.c || fail "the library does not compile"

"$corral" node --head --slots 1 --memory 150 >head.log 2>&1 </dev/null &
node=$!
trap 'kill $node 2>/dev/null; wait $node 2>/dev/null; rm -rf "$out"' EXIT
until grep -q '^head at' head.log; do
    kill -0 $node 2>/dev/null || fail "the node does not start: $(cat head.log)"
    sleep 0.05
done
head=$(sed -n 's/^head at \([^,]*\),.*/\1/p' head.log)

run run ./hog.so once --cluster "$head"
expect_code 3
grep -q 'task "hog": its process [0-9]* was ended by its node.s memory monitor, holding [0-9]* MiB: .*--memory allows 150' \
    "$out/stderr" || fail "the error does not say what was held"
grep -q 'warning: task "hog" (process [0-9]*) was ended by its node.s memory monitor' head.log || fail "the node says nothing"
run run ./hog.so twice --cluster "$head"
expect_code 0
expect_out modest

"$corral" node --head --memory lots >bad.log 2>&1 </dev/null && fail "--memory lots is taken"
grep -q -- '--memory: not a number of MiB: lots' bad.log || fail "--memory lots: $(cat bad.log)"
