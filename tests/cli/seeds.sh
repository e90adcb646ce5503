#!/bin/bash
# Several seeds one after the other, and other libraries' defaults.
. "$(dirname "$0")/common.sh"

short="--env CartPole-v1 --workers 0 stop.steps=1024 evaluation.episodes=3"
# shellcheck disable=SC2086
seeds() { run train $short "$@"; }

seeds --seeds 1..2,7 --out many
expect_code 0
expect_out "3 of 3 seeds"
expect_out "evaluation  mean "
for seed in 1 2 7; do
    [ "$(grep '^seed:' many/seed-$seed/config.yaml)" = "seed: $seed" ] || fail "seed $seed has no run of its own"
done
[ "$(wc -l <many/seeds.csv)" = 4 ] || fail "seeds.csv: $(cat many/seeds.csv)"
run train $short seed=2 --out alone --quiet
run compare alone many/seed-2
expect_code 0 # alone or among others: the same run
mean=$(awk -F, 'NR > 1 { sum += $5 } END { printf "%.1f", sum / (NR - 1) }' many/seeds.csv)
seeds --seeds 3 # numbered where no folder is named
expect_code 0
[ -f runs/CartPole-v1-ppo-1/seed-3/run.json ] || fail "no runs/CartPole-v1-ppo-1/seed-3"
seeds --seeds 1..2,7 --out other
expect_out "mean $mean,"

# The worst code is the code; a run that cannot be started ends all.
seeds --seeds 1,2 --out goal stop.return=1000 --quiet
expect_code 1
expect_silence
seeds --seeds 3,2 --out many
expect_refusal "holds a run of seed 2 already"
[ ! -e many/seed-3 ] || fail "$command started seed 3"
for list in 3..1 x 1, "" 1..2.. -1 1,1 1..2000 9007199254740993; do
    seeds "--seeds=$list" --out new
    expect_refusal "--seeds"
    [ ! -e new ] || fail "$command left a folder behind"
done
seeds --seeds 1..2 seed=3 --out new
expect_refusal "give one of them"
seeds --seeds 1..2 --seed 3 --out new
expect_refusal "give one of them"
run train --seeds 1..2 --resume many/seed-1
expect_refusal "--seeds starts new runs"

# A signal ends the run that it meets, and the rest.
"$corral" train $short --seeds 1..9 --out long stop.steps=1000000000 --quiet >"$out/stdout" 2>"$out/stderr" </dev/null &
child=$!
for _ in $(seq 100); do [ -f long/seed-1/progress.csv ] && break; sleep 0.1; done
sleep 0.3
kill -INT $child
wait $child
code=$?
command="corral train --seeds, interrupted"
expect_code 130
[ ! -e long/seed-2 ] || fail "$command: it went on with the next seed"
[ "$(key long/seed-1/run.json stop_reason)" = interrupted ] || fail "$command: no clean end"

# Presets come before the file and the keys.
value() { awk -v key="$2:" '$1 == key { print $2; exit }' "$1/config.yaml"; }
run train --env CartPole-v1 --preset rllib --workers 0 stop.steps=100 ppo.steps=50 ppo.epochs=1 evaluation.episodes=1 --out rllib --quiet
expect_code 0
[ "$(value rllib kl_target)" = 0.01 ] && [ "$(value rllib value_error_clip)" = 10 ] && [ "$(value rllib epochs)" = 1 ] ||
    fail "$command: $(cat rllib/config.yaml)"
printf 'env: CartPole-v1\nppo: {gamma: 0.5}\n' >half.yaml
run train half.yaml --preset cleanrl --workers 0 stop.steps=100 envs=1 evaluation.episodes=1 --out cleanrl --quiet
[ "$(value cleanrl gamma)" = 0.5 ] && [ "$(value cleanrl entropy_coefficient)" = 0.01 ] || fail "$command: $(cat cleanrl/config.yaml)"
run train --env CartPole-v1 --preset sb4
expect_refusal "sb3, cleanrl and rllib"
run train --resume rllib --preset sb3
expect_refusal "--preset is for new runs"
echo "seeds and presets work"
