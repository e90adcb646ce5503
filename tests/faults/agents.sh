#!/bin/bash
# The processes between learner and workers die: the only agent, the head, the far node. A run that cannot go on ends
# with code 3 and its last finished iteration in a checkpoint; one that can goes on to the very same result.
. "$(dirname "$0")/common.sh"
config="--env CartPole-v1 --seed 3 --workers 2 envs=4 ppo.steps=64 ppo.minibatch=64 evaluation.every=0 evaluation.episodes=2 network.hidden=[16] schedule_steps=1000000"
child() { pgrep -P "$1" | head -n 1; }
two_workers() { [ "$(workers | wc -l)" = 2 ]; }
steps_of() { tail -n 1 "$out/$1/progress.csv" 2>/dev/null | cut -d, -f1; }
has_stepped() { [ "$(wc -l <"$out/$1/progress.csv" 2>/dev/null || echo 0)" -gt 1 ]; }
start() { # FOLDER ARGUMENTS...: a long run in the background, its workers at work
    local folder=$1
    shift
    # shellcheck disable=SC2086
    "$corral" train $config stop.steps=100000000 stop.seconds=60 --out "$out/$folder" "$@" >"$out/stdout" 2>"$out/log" </dev/null &
    run=$!
    wait_for 10 two_workers || fail "$folder: no two workers: $(cat "$out/log")"
    wait_for 10 has_stepped "$folder" || fail "$folder: no iteration: $(cat "$out/log")"
    sleep 0.3
}
failed_well() { # FOLDER WORDS...
    local folder=$1 step
    command="the run in $folder"
    wait $run
    code=$?
    expect_code 3
    expect_words "the last finished iteration is in $out/$folder/checkpoints/" "--resume $out/$folder" "${@:2}"
    step=$(count "$folder" env_steps)
    [ "$step" -gt 0 ] && [ $((step % 256)) = 0 ] || fail "$folder: stands at $step, which is no whole iteration"
    echo "$folder: $(head -n 1 "$out/log")"
    [ -f "$out/$folder/checkpoints/$step/manifest.json" ] || fail "$folder: no checkpoint of step $step"
    # what was lost with the agent is played again: the whole is as if nothing had happened
    train --resume "$out/$folder" stop.steps=$((step + 5120)) >"$out/log" 2>&1 || fail "$folder: resume ended with $?"
    # shellcheck disable=SC2086
    train $config stop.steps=$((step + 5120)) --workers 0 --out "$out/calm-$folder" >"$out/log" 2>&1 || fail "calm run: $?"
    "$corral" compare "$out/calm-$folder" "$out/$folder" >"$out/log" 2>&1 || fail "$folder: resumed, it is not the calm run"
    rm -r "$out/calm-$folder"
}

# the only agent
start alone
kill -9 "$(child $run)"
failed_well alone "agent"
nothing_left "the only agent killed"

# its right hand, which starts and ends the workers
start spawner
kill -9 "$(child "$(child $run)")"
failed_well spawner "agent"
nothing_left "the spawner killed"

# all but the learner
start all
# shellcheck disable=SC2046
kill -9 $(ours | grep -vx $run)
failed_well all "agent"
nothing_left "everything but the learner killed"

head=127.0.0.1:$(free_port)
"$corral" node --head --listen $head --slots 1 >"$out/head.log" 2>&1 </dev/null &
node=$!
wait_for 10 alive_nodes $head 1 || fail "no head: $(cat "$out/head.log")"
"$corral" node --join $head --slots 1 >"$out/far.log" 2>&1 </dev/null &
far=$!
wait_for 10 alive_nodes $head 2 || fail "no second node: $(cat "$out/far.log")"

# the head of two nodes, with a worker on each
start headless --cluster $head
kill -9 $node
failed_well headless "head"
wait_for 5 eval '! kill -0 $far 2>/dev/null' || fail "the other node outlives its head by 5 s"
nothing_left "the head killed"

# the far node becomes a black hole in the middle of a run, and comes back when it has been given up: what it then
# sends is of a life that is over
"$corral" node --head --listen $head --slots 2 >"$out/head.log" 2>&1 </dev/null &
node=$!
wait_for 10 alive_nodes $head 1 || fail "no head: $(cat "$out/head.log")"
"$corral" node --join $head --slots 2 >"$out/far.log" 2>&1 </dev/null &
far=$!
wait_for 10 alive_nodes $head 2 || fail "no second node: $(cat "$out/far.log")"
start hole --cluster $head
# shellcheck disable=SC2046
kill -STOP $far $(pgrep -P $far)
wait_for 15 alive_nodes $head 1 || fail "a stopped node is not given up: $(cat "$out/status")"
before=$(steps_of hole)
moved() { [ "$(steps_of hole)" -gt "$before" ]; }
wait_for 5 moved || fail "the run does not go on without the stopped node"
# shellcheck disable=SC2046
kill -CONT $far $(pgrep -P $far)
sleep 1
kill -TERM $run
command="the run in hole"
wait $run
code=$?
expect_code 130
step=$(count hole env_steps)
# shellcheck disable=SC2086
train $config stop.steps=$step --workers 0 --out "$out/calm" >"$out/log" 2>&1 || fail "calm run: $?"
"$corral" compare "$out/calm" "$out/hole" >"$out/log" 2>&1 || fail "the run with a black hole is not the calm run"
[ "$(count hole workers_lost)" -ge 1 ] || fail "no worker was counted as lost"
ours | xargs -r kill -TERM
nothing_left "the black hole"
echo "agents may die: $step steps with a black hole"
