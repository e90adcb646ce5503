#!/bin/bash
# corral eval --import-sb3: agents of Stable-Baselines3 return here what summary.json says of them in Gymnasium.
# CORRAL_SB3_AGENTS names the folder that holds both.
. "$(dirname "$0")/common.sh"

run eval --import-sb3 nothing.safetensors
expect_refusal "needs --env"
run eval --import-sb3 nothing.safetensors --env CartPole-v1
expect_refusal "nothing.safetensors"
run eval --import-sb3 nothing.safetensors --env CartPole-v1 runs/another
expect_refusal "takes the place of a run"

[ -n "${CORRAL_SB3_AGENTS:-}" ] || { echo "skipped: CORRAL_SB3_AGENTS names no folder with agents"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3 to read summary.json"; exit 77; }
count=0
while read -r file env mean std; do
    run eval --import-sb3 "$CORRAL_SB3_AGENTS/$file" --env "$env" --episodes 100 --seed 0 --json
    expect_code 0
    # both are means of some episodes: four times the spread of a mean of twenty lies between them at most
    awk -v ours="$(key "$out/stdout" mean_return)" -v theirs="$mean" -v std="$std" \
        'BEGIN { exit !((ours - theirs)^2 <= (4 * std / sqrt(20) + 0.5)^2) }' ||
        fail "$file: $(key "$out/stdout" mean_return) instead of $mean"
    count=$((count + 1))
done < <(python3 -c '
import json, sys
for agent in json.load(open(sys.argv[1])):
    greedy = agent["greedy_eval_gymnasium_seeds_0_19"]
    print(agent["file"], agent["env"], greedy["mean"], greedy["std"])' "$CORRAL_SB3_AGENTS/summary.json")
[ $count -gt 0 ] || fail "summary.json names no agent"
echo "$count agents play as well here"
