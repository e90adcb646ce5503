#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# `corral run`: the examples of the runtime, with workers and in one process; what cannot be run is said.
set -uo pipefail
. "$(dirname "$0")/common.sh"

flags=(-std=c17 -Wall -Wextra -Werror -shared -fPIC -D_GNU_SOURCE)
[[ $CORRAL_SANITIZER == address ]] && flags+=(-fsanitize=address,undefined)
[[ $CORRAL_SANITIZER == thread ]] && flags+=(-fsanitize=thread)
for layer in core/base actors; do flags+=("-I$CORRAL_SOURCE/$layer/include"); done

example() { # example FILE ENTRY TEXT [words]: both ways print TEXT
    local file=$1 entry=$2 text=$3 way said
    shift 3
    cc "${flags[@]}" -o "$file.so" "$CORRAL_SOURCE/examples/runtime/$file.c" || { fail "$file.c does not compile"; return; }
    for way in "--cpus=2" "--local"; do
        said=$(timeout 60 "$CORRAL_BIN/corral" run "./$file.so" "$entry" "$@" "$way" 2>&1 </dev/null)
        [[ $said == "$text" ]] || fail "$file $way says \"$said\", not \"$text\""
    done
}

example tasks pi "pi is about 3.14106" 8
example counter count "counted to 1000"
example tree reduce "first 120, last 264"
example parameters fit "y = 3.00 x -1.00"
example pipeline flow "40 items, sum 1560"

# At once; one after the other they would take ten seconds. A busy machine may need some more than one.
cc "${flags[@]}" -o sleep.so "$CORRAL_SOURCE/examples/runtime/sleep.c" || fail "sleep.c does not compile"
run run ./sleep.so together --cpus 2
expect_code 0
grep -Eq '^10 naps in [1-6] s$' "$out/stdout" || fail "$command: the naps were not at once"

run run ./tasks.so
expect_refusal "which library and which of its functions"
run run ./nowhere.so pi
expect_refusal "nowhere.so"
run run ./tasks.so pi --cpus=many
expect_refusal "\"many\" is not an amount"
run run ./tasks.so pie
expect_code 3
grep -qF 'task "pie": the library has no such function' "$out/stderr" || fail "$command does not say what is missing"
run run ./tasks.so pi 0
expect_code 3
grep -qF "1 to 1000 tasks" "$out/stderr" || fail "$command does not say what the entry said"
