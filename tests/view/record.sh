#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Recordings as people make them: the right number of frames, whole files, also when interrupted; plots.
. "$(dirname "$0")/../cli/common.sh"
type -P ffprobe >/dev/null || exit 77
unset DISPLAY

frames() { ffprobe -v error -count_frames -select_streams v -show_entries stream=nb_read_frames -of csv=p=0 "$1"; }

train_short run
run record run --episodes 2 --out a.mp4
expect_code 0
expect_out "frames in a.mp4"
steps=$(grep -o '[0-9]* steps' "$out/stdout" | awk '{ sum += $1 + 1 } END { print sum }')
[ "$(frames a.mp4)" = "$steps" ] || fail "a.mp4 has $(frames a.mp4) frames instead of $steps"
rate=$(ffprobe -v error -select_streams v -show_entries stream=r_frame_rate -of csv=p=0 a.mp4)
[ "$rate" = 50/1 ] || fail "a.mp4 has $rate frames per second"

sum=$(sha256sum <a.mp4)
run record run --out a.mp4 --fps 29.97
expect_out "frames in a-2.mp4"
[ "$(sha256sum <a.mp4)" = "$sum" ] || fail "a.mp4 was overwritten"
ffprobe -v error -show_entries stream=r_frame_rate -of csv=p=0 a-2.mp4 | grep -q 2997/100 || fail "not 29.97 fps"

run record run --out a.gif --panel --width 400
expect_code 0
steps=$(grep -o '[0-9]* steps' "$out/stdout" | awk '{ print $1 + 1 }')
[ "$(frames a.gif)" = "$steps" ] || fail "a.gif has $(frames a.gif) frames instead of $steps"
run record run --out pictures/ --first 4
[ "$(ls pictures/*.png | wc -l)" = "$(grep -o '[0-9]* frames' "$out/stdout" | cut -d' ' -f1)" ] || fail "pictures"
[ -e pictures/episode-004-frame-00000.png ] || fail "pictures are not named after their episode"

# Interrupted: finished all the same.
"$CORRAL_BIN/corral" record --env Acrobot-v1 --episodes 100000 --out b.mp4 >"$out/stdout" 2>"$out/stderr" &
sleep 3
kill -INT $!
wait $!
code=$?
command="record, interrupted"
expect_code 130
[ "$(frames b.mp4)" = "$(grep -o '[0-9]* frames' "$out/stdout" | cut -d' ' -f1)" ] || fail "b.mp4 is not whole"
[ -z "$(ls -A | grep '^\.b')" ] || fail "something hidden is left"

# Films of training: the episodes of the schedule, whole, and the run is the same as without.
train_short filmed record.every=cubic
train_short plain
run compare filmed plain
expect_code 0
for number in 0 1 8; do
    steps=$(awk -F, -v n=$number '$2 == 0 && $3 == n { print $5 + 1 }' filmed/episodes.csv)
    film=filmed/videos/episode-00000$number.mp4
    [ "$(frames $film)" = "$steps" ] || fail "$film has $(frames $film) frames instead of $steps"
done
[ -z "$(ls filmed/videos | grep -v 'episode-0000[0-9]*\.mp4')" ] || fail "something is left in filmed/videos"
run train --env CartPole-v1 record.every=cubik
expect_refusal "off, cubic, or a number"

run record run --out a.avi
expect_refusal ".mp4, .gif, or a slash"
run record
expect_refusal "record takes one run"
run record --env CartPol-v1 --out c.gif
expect_refusal "CartPole-v1"
run record run --env Acrobot-v1
expect_refusal "does not fit"

run plot run --out c.png
expect_code 0
expect_out c.png
run plot run --out c.svg
expect_out c.svg
run plot run
expect_out "environment steps"
run plot run --metric train/los
expect_refusal "did you mean train/loss?"
mkdir seeds && cp -r run seeds/seed-1 && cp -r run seeds/seed-2
run plot seeds
expect_out "seeds/seed-1 and 1 like it"
run plot nowhere
expect_code 2
echo "recordings are whole"
