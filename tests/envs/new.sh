#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# An environment of one's own, from nothing to an agent that has learned it: `corral env new` prints three commands, and
# they work as they stand there. Then the examiner's exit codes, and what is refused.
set -uo pipefail
[[ ${CORRAL_SANITIZER:-} == thread ]] && { echo "skipped: gRPC is not built for ThreadSanitizer"; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
export PATH="$CORRAL_BIN:$PATH"
fail() { echo "FAILED: $*"; exit 1; }
refused() { # refused TEXT COMMAND...: exit code 2, and this in the sentence
    local text=$1 said code
    shift
    said=$("$@" 2>&1 </dev/null)
    code=$?
    [[ $code == 2 && $said == *"$text"* ]] || fail "$*: exit code $code, \"$said\""
}

said=$(corral env new orchard) || fail "env new"
mapfile -t commands < <(grep -E '^  (cc|corral) ' <<<"$said")
[[ ${#commands[@]} == 3 ]] || fail "three commands expected: $said"
grep -q Template orchard.c && fail "the template's name is left in the file"
grep -q INCLUDE_FOLDER orchard.c && fail "the template's folder is left in the file"
grep -qE 'SPDX|Copyright' orchard.c && fail "the file is the user's own and carries somebody's licence"

eval "${commands[0]} -Wall -Wextra -Werror -std=c99 -pedantic" || fail "${commands[0]}"
eval "${commands[1]}" || fail "${commands[1]}"
eval "${commands[2]} --workers 1 --out run --quiet stop.steps=150000 stop.return=0.9 evaluation.every=10000" </dev/null ||
    fail "it does not learn: ${commands[2]} ended with $?"

refused "orchard.c is already there" corral env new orchard
refused "begins with a letter" corral env new 9lives
refused "begins with a letter" corral env new
refused "of which environment?" corral env check
refused "no environment CartPol-v1; did you mean CartPole-v1?" corral env check CartPol-v1
refused "not a shared library" corral env check ./orchard.c
refused "--steps: 0 is outside" corral env check --steps 0 CartPole-v1
refused "env does one of two things" corral env chekc
refused "env does one of two things" corral env

broken=$CORRAL_BUILD/tests/plugins/broken.so
said=$(corral env check --steps 1000 "$broken:OutOfRange-v0")
code=$?
[[ $code == 1 && $said == *"FAILED  spaces"*"step 3: observation, element 0: 1.5 is outside [-1, 1]"* ]] ||
    fail "exit code $code: $said"
said=$(corral env check --steps 1000 "$CORRAL_BUILD/tests/plugins/right.so") || fail "right.so: $said"
[[ $said == *"Right-v0"*"Other-v0"*"2 environments, 0 with failures" ]] || fail "both of right.so expected: $said"
