#!/bin/bash
# corral compare: 0 where two runs are equal bit for bit, 1 with the first difference, 2 where it cannot say.
. "$(dirname "$0")/common.sh"
train_short a --seed 1
train_short same --seed 1 threads=2
train_short other --seed 2
train_short wider --seed 1 'network.hidden=[32]'

run compare a same
expect_code 0
run compare a a/checkpoints/2048
expect_code 0
run compare a other
expect_code 1
expect_out "policy.safetensors: \""
grep -qE 'element [0-9]+: -?[0-9.e+-]+ in a, -?[0-9.e+-]+ in other' "$out/stdout" || fail "$command does not say which element"
grep -q '^state.json: ' "$out/stdout" || fail "$command does not mention state.json"
run compare a wider
expect_code 1
run compare a missing
expect_refusal missing
truncate -s 100 other/checkpoints/2048/policy.safetensors
run compare a other
expect_refusal "policy.safetensors: 100 bytes instead of"
echo "compare decides"
