#!/bin/bash
# Bad input: code 2, one sentence that says what to do, and nothing started or left behind.
. "$(dirname "$0")/common.sh"

refused() { # TEXT ARGUMENTS...
    local text=$1
    shift
    run "$@"
    expect_refusal "$text"
    [ ! -e runs ] && [ ! -e new ] || fail "$command left a folder behind"
}

# keys and values
refused 'unknown key "ppo.learning_rte"; did you mean "ppo.learning_rate"?' train --env CartPole-v1 ppo.learning_rte=1
refused 'ppo.epochs' train --env CartPole-v1 ppo.epochs=0
refused 'ppo.epochs' train --env CartPole-v1 ppo.epochs=many
refused 'seed' train --env CartPole-v1 --seed -1
refused 'seed' train --env CartPole-v1 --seed=1.5
refused 'workers' train --env CartPole-v1 --workers 9 envs=8
refused 'algorithm' train --env CartPole-v1 --algo dqm
refused 'env_params' train --env CartPole-v1 env_params.gravitty=1

# environments
refused 'CartPole-v1' train
refused 'did you mean' train --env CartPole-v2
refused './missing.so' train --env ./missing.so:Walk-v0
echo "not a library" >text.so
refused 'text.so' train --env ./text.so:Walk-v0

# files
refused 'missing.yaml' train missing.yaml
printf 'env: CartPole-v1\nppo:\n  learning_rte: 1e-3\n' >typo.yaml
refused 'typo.yaml:3: ' train typo.yaml
refused 'did you mean "ppo.learning_rate"' train typo.yaml
printf 'env: CartPole-v1\nppo: {epochs: [\n' >broken.yaml
refused 'broken.yaml' train broken.yaml
printf 'env: CartPole-v1\nenv: Acrobot-v1\n' >twice.yaml
refused 'twice.yaml:2' train twice.yaml
printf 'a: &a [x]\nb: *a\n' >alias.yaml
refused 'alias.yaml' train alias.yaml
head -c 3000000 /dev/zero >large.yaml
refused 'large.yaml' train large.yaml
mkdir folder.yaml
refused 'folder.yaml' train folder.yaml
printf 'env: CartPole-v1\n' >right.yaml
refused 'only one configuration file' train right.yaml right.yaml

# runs and checkpoints
refused 'nowhere' train --resume nowhere
refused 'nowhere' train --env CartPole-v1 --out new --init-from nowhere
refused 'nowhere' eval nowhere
refused 'eval takes one' eval
refused '--episodes' eval nowhere --episodes 0
refused '--episodes' eval nowhere --episodes few
refused 'compare takes two' compare nowhere
refused 'nowhere' compare nowhere nowhere
mkdir empty
refused 'no checkpoint' eval empty
refused 'cannot create' train --env CartPole-v1 --workers 0 --out /proc/new
touch file
refused 'file' train --env CartPole-v1 --workers 0 --out file/new

# a cluster that is not there
refused '127.0.0.1:1' status --cluster 127.0.0.1:1

# flags and words in their order: the last one wins
train_short order --seed 3 seed=4
[ "$(grep '^seed:' order/config.yaml)" = "seed: 4" ] || fail "$command: $(grep '^seed:' order/config.yaml)"
train_short again seed=4 --seed=3
[ "$(grep '^seed:' again/config.yaml)" = "seed: 3" ] || fail "$command: $(grep '^seed:' again/config.yaml)"

train_short run
expect_code 0
train_short run
expect_refusal "holds a run already"
run train --resume run stop.steps=4096 network.hidden=[32]
expect_code 2
run train --resume run/checkpoints/2048 --out other stop.steps=4096
expect_code 0
run train --resume run stop.steps=4096
expect_code 0
run train --resume run/checkpoints/2048 stop.steps=3072
[ -d run/checkpoints/2048 ] && expect_refusal "has a later checkpoint, 4096"
[ -f other/run.json ] || fail "a run resumed into another folder wrote nothing there"
echo "bad input is refused"
