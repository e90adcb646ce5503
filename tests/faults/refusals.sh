#!/bin/bash
# Input that is wrong on purpose: configurations that mean harm, and libraries that are no environments. One sentence
# each, code 2, at once, and nothing is left.
. "$(dirname "$0")/common.sh"
plugins=$CORRAL_BUILD/tests/plugins
cd "$out" || exit 1

bad_file() { # WORDS: of the file on standard input
    cat >config.yaml
    refused "config.yaml|$1" train config.yaml --out "$out/run"
    [ ! -e "$out/run" ] || fail "a refused run left its folder: $1"
}

# keys and types, each with its line
bad_file 'config.yaml:2: unknown key "ppo.learning_rte"; did you mean "ppo.learning_rate"?' <<<$'env: CartPole-v1\nppo: {learning_rte: 1e-3}'
bad_file 'config.yaml:2: |ppo.epochs|many' <<<$'env: CartPole-v1\nppo: {epochs: many}'
bad_file 'config.yaml:2: |ppo.epochs|1.5' <<<$'env: CartPole-v1\nppo: {epochs: 1.5}'
bad_file 'config.yaml:2: |ppo.gamma: 1.01 is above 1' <<<$'env: CartPole-v1\nppo: {gamma: 1.01}'
bad_file 'config.yaml:2: |ppo.gamma' <<<$'env: CartPole-v1\nppo: {gamma: .nan}'
bad_file 'config.yaml:2: |ppo.gamma' <<<$'env: CartPole-v1\nppo: {gamma: [0.9]}'
bad_file 'config.yaml:2: |network.hidden' <<<$'env: CartPole-v1\nnetwork: {hidden: {a: 1}}'
bad_file 'config.yaml:2: |network.hidden' <<<$'env: CartPole-v1\nnetwork: {hidden: [64, -1]}'
bad_file 'config.yaml:2: |ppo.normalize_advantage' <<<$'env: CartPole-v1\nppo: {normalize_advantage: maybe}'
bad_file 'config.yaml:2: |algorithm|ppo' <<<$'env: CartPole-v1\nalgorithm: magic'
bad_file 'config.yaml:1: ' <<<$'[env, CartPole-v1]'
bad_file 'config.yaml:2' <<<$'env: CartPole-v1\n  seed: 1'
bad_file 'seed|999999999999999999999' <<<$'env: CartPole-v1\nseed: 999999999999999999999'

# bombs: references that unfold to billions, depth, length, bytes that are no text
bomb() { echo 'env: &a0 CartPole-v1'; for i in 1 2 3 4 5 6 7 8 9; do p=\*a$((i - 1)); echo "a$i: &a$i [$p, $p, $p, $p, $p, $p, $p, $p, $p, $p]"; done; }
bomb >bomb.yaml
start=$SECONDS
refused "bomb.yaml" train bomb.yaml
{ echo 'env: CartPole-v1'; echo -n 'ppo: '; head -c 500000 /dev/zero | tr '\0' '['; } >deep.yaml
refused "deep.yaml" train deep.yaml
{ echo -n 'env: '; head -c 900000 /dev/zero | tr '\0' x; } >long.yaml
refused "long.yaml:1" train long.yaml
head -c 4000 /dev/urandom >noise.yaml
refused "noise.yaml" train noise.yaml
{ echo "env: CartPole-v1"; for i in $(seq 20000); do echo "key$i: 1"; done; } >many.yaml
refused 'many.yaml:2: unknown key "key1"' train many.yaml
ln -s loop.yaml loop.yaml
refused "loop.yaml" train loop.yaml
refused "/dev/zero" train /dev/zero
mkfifo pipe.yaml
refused "pipe.yaml" train pipe.yaml
[ $((SECONDS - start)) -lt $((20 * slow)) ] || fail "the refusals took $((SECONDS - start)) s"

# libraries
for case in "wrong_abi:version 2|this program has 1" "wrong_no_symbol:corral_env_plugin" "wrong_no_types:no environment" "wrong_type_size:size" \
    "wrong_no_step:step" "wrong_no_action:action" "wrong_action_dtype:action" "wrong_bounds:bounds" "wrong_undefined:somebody_elses_function"; do
    name=${case%%:*}
    refused "$name.so|${case#*:}" train --env "$plugins/$name.so:Right-v0" --out "$out/run"
done
cp "$plugins/right.so" other.so
printf '\xb7' | dd of=other.so bs=1 seek=18 conv=notrunc status=none # the machine it is for
[ "$(uname -m)" = x86_64 ] && refused "other.so|aarch64" train --env "$out/other.so:Right-v0"
head -c 2000 "$plugins/right.so" >cut.so
refused "cut.so" train --env "$out/cut.so:Right-v0"
cp "$plugins/right.so" holes.so
dd if=/dev/zero of=holes.so bs=1 seek=64 count=400 conv=notrunc status=none
refused "holes.so" train --env "$out/holes.so:Right-v0"
: >empty.so
refused "empty.so" train --env "$out/empty.so:Right-v0"
mkfifo pipe.so
refused "pipe.so" train --env "$out/pipe.so:Right-v0"
refused "$out" train --env "$out:Right-v0"
refused 'Wrong-v0|Right-v0' train --env "$plugins/right.so:Wrong-v0"
refused 'CartPole-v3|did you mean' train --env CartPole-v3

# spaces that dqn cannot use are named
refused "Pendulum-v1|one Discrete action" train --env Pendulum-v1 algorithm=dqn --out "$out/run"
[ ! -e "$out/run" ] || fail "a refused run left its folder"
echo "refused, all of it"
