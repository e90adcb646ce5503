#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Gymnasium from PyPI, in a folder of the build: the tests of gym.c with it, CartPole's Python trained to 475, the
# same bits for any number of workers, and what others make for Gymnasium.
. "$(dirname "$0")/../cli/common.sh"

venv=$CORRAL_BUILD/gymnasium
if ! "$venv/bin/python" -c 'import gymnasium' 2>/dev/null; then
    python3 -m venv "$venv" >"$out/venv.log" 2>&1 &&
        "$venv/bin/pip" install -q 'gymnasium>=1.0' >>"$out/venv.log" 2>&1 ||
        { tail -n 3 "$out/venv.log"; echo "skipped: no Gymnasium to be had"; exit 77; }
fi
optional() { "$venv/bin/pip" install -q "$@" >"$out/venv.log" 2>&1 || { echo "left out: $*"; return 1; }; }
export CORRAL_PYTHON=$venv/bin/python

"$CORRAL_BUILD/tests/test_envs_gym" >"$out/stdout" 2>"$out/stderr"
code=$?
command=test_envs_gym
expect_code 0

run train --env gym:CartPole-v1 --workers 0 --out a stop.return=475 stop.steps=400000
expect_code 0
grep -o 'steps  *[0-9,]* in [0-9.]* s' "$out/stdout" "$out/stderr" | head -n 1
for workers in 1 2; do
    run train --env gym:CartPole-v1 --workers $workers --out "w$workers" stop.steps=8192
    [ -d "w$workers" ] || fail "no run"
done
run compare w1 w2
expect_code 0
expect_out "equal"
run env check gym:CartPole-v1
expect_out " 0 failed"

if optional swig 'gymnasium[box2d]'; then
    run record --env gym:LunarLander-v3 --out lander.gif
    expect_code 0
    [ -s lander.gif ] || fail "no picture of LunarLander"
    run train --env gym:LunarLander-v3 --workers 0 --out lander env_params.gravity=-5 stop.steps=4096
    [ $code -le 1 ] || fail "LunarLander does not train"
fi
if optional ale-py; then
    run envs gym:ALE/Pong-v5
    expect_out "Box(210, 160, 3) u8 [0, 255]"
    run record --env gym:ALE/Pong-v5 --out pong/ max_episode_steps=20
    ls pong/*.png >/dev/null || fail "no pictures of Pong"
fi
if optional 'gymnasium[mujoco]'; then
    run envs gym:HalfCheetah-v5
    expect_out "Box(6) f32 [-1, 1]"
fi
echo "Gymnasium's environments play"
