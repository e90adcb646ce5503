#!/bin/bash
# What needs more than numbers in and one choice out is learned, in short runs of the examples.
. "$(dirname "$0")/../runs/common.sh"
learn() { # NAME EXAMPLE SETTINGS...
    local name=$1 example=$2
    shift 2
    train "$CORRAL_SOURCE/examples/$example.yaml" --workers 0 --out "$out/$name" "$@" >"$out/log" 2>&1
    local code=$?
    [ $code -le 1 ] || fail "$name ended with $code"
}
reaches() { # NAME RETURN
    local score
    score=$(mean "$out/$1" --seed 77) || fail "$1: eval failed"
    at_least "$score" "$2" || fail "$1 evaluates at $score, not $2"
    echo "$1: $score"
}

# a cue at the beginning, a decision at the end: with a memory, and without one
learn lstm recall-ppo env_params.delay=20 stop.steps=100000
reaches lstm 0.95
learn forgetful recall-ppo network.memory=none env_params.delay=20 stop.steps=50000
at_least 0.5 "$(mean "$out/forgetful" --seed 77)" || fail "what has no memory remembers"

# a Dict to see, two choices, masks
learn switchboard switchboard-ppo stop.steps=40960 evaluation.every=0 schedule_steps=60000
reaches switchboard 36

# one-hot observations; numbers to act with
learn frozenlake frozenlake-ppo stop.steps=60000 evaluation.every=0
reaches frozenlake 0.6
learn pendulum pendulum-ppo-gsde stop.steps=60000 evaluation.every=0
reaches pendulum -400
