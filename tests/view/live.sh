#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# A training run, watched in two windows on a virtual display: they open while it trains, answer keys, save pictures
# that change, and stay when it has ended. The run's result is that of one that nobody watched.
. "$(dirname "$0")/../cli/common.sh"
for program in Xvfb xdotool; do type -P $program >/dev/null || exit 77; done

mkfifo display
Xvfb -displayfd 3 -screen 0 1300x800x24 3<>display >xvfb.log 2>&1 &
xvfb=$!
trap 'kill $xvfb $first $second $training 2>/dev/null; rm -rf "$out"' EXIT
read -r -t 20 number <display || fail "no virtual display"
export DISPLAY=:$number
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # what the display's own libraries keep is not ours

keys() { for key in "$@"; do xdotool key --window "$window" "$key"; sleep 0.3; done; }
wait_for() { for _ in $(seq 100); do [ -e "$1" ] && return; sleep 0.1; done; fail "$1 was not made"; }

command="corral view --live"
"$corral" train --env CartPole-v1 --workers 1 --seed 3 --out run stop.steps=100000000 stop.seconds=12 --quiet >train.log 2>&1 &
training=$!
wait_for run/live.sock
"$corral" view --live run >"$out/stdout" 2>"$out/stderr" &
first=$!
(mkdir other && cd other && exec "$corral" view --live ../run >/dev/null 2>&1) &
second=$!
for _ in $(seq 100); do
    windows=($(xdotool search --name 'live - corral'))
    [ ${#windows[@]} -ge 2 ] && break
    sleep 0.1
done
[ ${#windows[@]} -ge 2 ] || fail "no two windows"
sleep 3
for window in "${windows[@]}"; do keys c; done
wait_for corral-view.png
wait_for other/corral-view.png
for window in "${windows[@]}"; do keys 2 p h h 0 p c; done
wait_for corral-view-2.png
cmp -s corral-view.png corral-view-2.png && fail "nothing moves"
wait $training
sleep 0.5
kill -0 $first && kill -0 $second || fail "a window has gone with the run"
for window in "${windows[@]}"; do keys c q; done
wait_for corral-view-3.png
wait $first
code=$?
expect_code 0
[ ! -s "$out/stderr" ] || fail "it writes to standard error"

run view --live run
expect_refusal "is not being trained now"
run view --live nowhere
expect_refusal "nowhere"
echo "a run can be watched"
