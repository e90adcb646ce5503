#!/bin/bash
# corral eval: the same answer each time, from the checkpoint alone.
. "$(dirname "$0")/common.sh"
train_short run stop.steps=8192 env_params.gravity=9.0 max_episode_steps=120
expect_code 0

run eval run --json --episodes 20 --seed 3
expect_code 0
[ "$(wc -l <"$out/stdout")" = 1 ] || fail "$command: not one line of JSON"
for name in mean_return std_return min_return max_return mean_length episodes env checkpoint policy_version failures; do
    expect_out "\"$name\":"
done
[ "$(key "$out/stdout" episodes)" = 20 ] || fail "$command: $(key "$out/stdout" episodes) episodes"
[ "$(key "$out/stdout" env)" = CartPole-v1 ] || fail "$command: env is $(key "$out/stdout" env)"
awk -v max="$(key "$out/stdout" max_return)" 'BEGIN { exit !(max <= 120) }' || fail "$command: the run's time limit was forgotten"
first=$(cat "$out/stdout")
run eval run --json --episodes 20 --seed 3
[ "$(cat "$out/stdout")" = "$first" ] || fail "$command: another answer the second time"
run eval run/checkpoints/8192 --json --episodes 20 --seed 3
[ "$(key "$out/stdout" mean_return)" = "$(echo "$first" | grep -o '"mean_return": *[^,}]*' | sed 's/.*: *//')" ] || fail "$command: not what its run says"
run eval run --json --episodes 20 --seed 4 --stochastic
[ "$(cat "$out/stdout")" != "$first" ] || fail "$command: other seeds, the same answer"

# for other programs
run export run --onnx policy.onnx
expect_code 0
grep -q "observation" policy.onnx || fail "$command: no model"
run export run
expect_refusal "export takes one run or checkpoint and a file"
run export run --onnx nowhere/policy.onnx
expect_code 3

# without the run around it, and without the words of the run
mv run/checkpoints/8192 alone
rm -r run
run eval alone --json --episodes 20 --seed 3
[ "$(key "$out/stdout" mean_return)" = "$(echo "$first" | grep -o '"mean_return": *[^,}]*' | sed 's/.*: *//')" ] || fail "$command: it needs more than the checkpoint"

run eval alone --episodes 3
expect_code 0
expect_out "mean return"
run eval alone --env Nothing-v0
expect_code 2

# damage is found before anything is played
printf 'x' | dd of=alone/policy.safetensors bs=1 seek=600 conv=notrunc 2>/dev/null
run eval alone
expect_refusal "policy.safetensors: checksum differs from manifest.json"
echo "eval answers"
