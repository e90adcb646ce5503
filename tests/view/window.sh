#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# The window on a virtual display: it opens, answers keys also while paused, saves pictures, and closes.
. "$(dirname "$0")/../cli/common.sh"
for program in Xvfb xdotool ffprobe; do type -P $program >/dev/null || exit 77; done

mkfifo display
Xvfb -displayfd 3 -screen 0 1300x800x24 3<>display >xvfb.log 2>&1 &
xvfb=$!
trap 'kill $xvfb $view 2>/dev/null; rm -rf "$out"' EXIT
read -r -t 20 number <display || fail "no virtual display"
export DISPLAY=:$number

# What the display's own libraries keep is not ours; show.c looks for what we leak.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0

command="corral view"
"$corral" view --env CartPole-v1 >"$out/stdout" 2>"$out/stderr" &
view=$!
xdotool search --sync --name 'CartPole-v1 - corral' >/dev/null || fail "no window"
keys() { for key in "$@"; do xdotool key "$key"; sleep 0.2; done; }
wait_for() { for _ in $(seq 50); do [ -e "$1" ] && return; sleep 0.1; done; fail "$1 was not written"; }

keys v space
sleep 2 # paused, and still there
keys comma comma period c
wait_for corral-view.png
keys z c
wait_for corral-view-2.png
cmp -s corral-view.png corral-view-2.png && fail "zooming changes nothing"
keys z z space plus n h h p c
wait_for corral-view-3.png
sleep 0.5
keys v
wait_for corral-view.mp4
frames=$(ffprobe -v error -count_frames -select_streams v -show_entries stream=nb_read_frames -of csv=p=0 corral-view.mp4)
[ "$frames" -gt 2 ] || fail "the recording has $frames frames"
kill -0 $view || fail "the window is gone"
keys q
wait $view
code=$?
expect_code 0
[ ! -s "$out/stderr" ] || fail "it writes to standard error"

# Without a display there is a sentence.
unset DISPLAY
SDL_VIDEODRIVER=x11 run view --env CartPole-v1
expect_code 3
grep -q 'corral record. needs no display' "$out/stderr" || fail "it does not say what to do without a display"
env -u WAYLAND_DISPLAY timeout 20 "$corral" view --env CartPole-v1 >"$out/stdout" 2>"$out/stderr" </dev/null
code=$?
command="corral view, where SDL would play to nobody"
expect_code 3
grep -q 'there is no display' "$out/stderr" || fail "$command: $(cat "$out/stderr")"
echo "the window works"
