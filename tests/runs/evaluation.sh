#!/bin/bash
# Evaluation beside training: how many play, how long they take and where the run was cut off change nothing.
. "$(dirname "$0")/common.sh"
config=$CORRAL_SOURCE/examples/cartpole-ppo-zoo.yaml
same="--seed 5 --workers 0 schedule_steps=6144 evaluation.every=1024 evaluation.episodes=12 evaluation.lag=3 stop.return=.inf checkpoint.every=2304"
run() { # NAME SETTINGS...
    local name=$1
    shift
    # shellcheck disable=SC2086
    train "$config" $same --out "$out/$name" "$@" >"$out/log" 2>&1
    code=$?
}
equal() { "$corral" compare "$out/$1" "$out/$2" >"$out/log" 2>&1 || fail "$1 and $2 differ"; }
curve() { cut -d, -f1,2 "$out/$1/progress.csv" >"$out/$1.steps" && awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "eval/mean_reward") at = i } NR > 1 && $at != "" { print $at }' "$out/$1/progress.csv"; }

run one stop.steps=6144 evaluation.workers=1
[ $code = 0 ] || fail "a run with one ended with $code"
run many stop.steps=6144 evaluation.workers=5
[ $code = 0 ] || fail "a run with five ended with $code"
equal one many

# What is evaluated is what a run that does so in between evaluates; what is trained is the same.
run between stop.steps=6144
cmp -s "$out/one/checkpoints/6144/policy.safetensors" "$out/between/checkpoints/6144/policy.safetensors" || fail "evaluating beside training changes the policy"
[ "$(curve one)" = "$(curve between)" ] || fail "beside: $(curve one) between: $(curve between)"
best=$(key "$(find "$out/one" -name best.json)" step)
[ -d "$out/one/checkpoints/$best" ] || fail "no best checkpoint, $best"
[ "$best" = "$(key "$(find "$out/between" -name best.json)" step)" ] || fail "another checkpoint is the best"

# Cut off while a result has yet to count: 2304 steps are iteration 9; the evaluation of 2048 counts at iteration 11.
run part stop.steps=2304 evaluation.workers=2
[ "$(key "$out/part/checkpoints/2304/state.json" pending_iteration)" = 11 ] || fail "the checkpoint does not hold what is to count"
train --resume "$out/part" stop.steps=6144 >"$out/log" 2>&1
equal one part

# A goal is reached three iterations, 768 steps, after the one that was evaluated; sooner where the next is due.
run goal stop.steps=6144 stop.return=5 stop.evaluations=1 evaluation.workers=2
[ $code = 0 ] || fail "the goal was not reached: $code"
[ "$(key "$out/goal/run.json" env_steps)" = 1792 ] || fail "stopped at $(key "$out/goal/run.json" env_steps)"
run late stop.steps=6144 stop.return=5 stop.evaluations=1 evaluation.workers=2 evaluation.lag=100
[ "$(key "$out/late/run.json" env_steps)" = 2048 ] || fail "stopped at $(key "$out/late/run.json" env_steps)"
echo "evaluations beside training count when they should"
