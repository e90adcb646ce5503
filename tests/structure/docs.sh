#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Runs the commands of the documentation as they stand there: each ```sh block that follows a line <!-- run -->, in
# the order of the page, in one folder that looks like a checkout. ./corral is the program that was built.
set -uo pipefail

checkout=$(mktemp -d)
trap 'rm -rf "$checkout"' EXIT
ln -s "$CORRAL_BIN/corral" "$checkout/corral"
for folder in examples envs core tests; do ln -s "$CORRAL_SOURCE/$folder" "$checkout/$folder"; done
export PATH="$CORRAL_BIN:$PATH"
blocks=0
for page in README.md CONTRIBUTING.md envs/README.md examples/README.md; do
    script=$checkout/block.sh
    awk '/^<!-- run -->$/ {wanted = 1; next}
         /^```/ {if (inside) inside = wanted = 0; else inside = wanted; next}
         inside {print; lines++}
         END {exit lines == 0}' "$CORRAL_SOURCE/$page" >"$script" || continue
    blocks=$((blocks + 1))
    echo "== $page"
    (cd "$checkout" && bash -euo pipefail -x "$script" </dev/null) || { echo "$page: a command failed"; exit 1; }
done
[[ $blocks -gt 0 ]] || { echo "no page has commands to run"; exit 1; }
