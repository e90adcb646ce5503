#!/bin/bash
# What a run asks for and cannot have: refused at its start in one sentence, with nothing left behind.
. "$(dirname "$0")/common.sh"
cart="--env CartPole-v1 --workers 2 --out $out/run"
not_even_a_folder() { [ ! -e "$out/run" ] || fail "$command: a refused run left its folder"; }

# GPUs, CPUs
# shellcheck disable=SC2086
refused "99 GPUs asked for, the cluster has 0" train $cart worker_gpus=49.5
not_even_a_folder

# more memory than there is: for the learner's rows, its network, a worker's blocks. (A sanitizer has its own idea of that.)
if [ -z "${CORRAL_SANITIZER:-}" ]; then
    for much in "ppo.steps=1000000 envs=65536" "ppo.steps=1000000 envs=65536 workers=0" "network.hidden=[65536,65536,65536]"; do
        # shellcheck disable=SC2086
        refused "memory" train $cart $much
        not_even_a_folder
    done
    for steps in 60000 200000; do
        command="corral train ppo.steps=$steps, under a limit"
        # shellcheck disable=SC2086
        (ulimit -v 400000 && exec "$corral" train $cart ppo.steps=$steps envs=64) >"$out/stdout" 2>"$out/log" </dev/null
        code=$?
        expect_code 2
        expect_words "memory" "steps"
        nothing_left "$command"
        not_even_a_folder
    done
fi

# folders that cannot be written
# shellcheck disable=SC2086
refused "cannot create|/proc/run" train --env CartPole-v1 --out /proc/run
: >"$out/file"
refused "cannot create the folder $out/file" train --env CartPole-v1 --out "$out/file/run"
mkdir "$out/locked"
chmod 500 "$out/locked"
if ! touch "$out/locked/probe" 2>/dev/null; then
    refused "$out/locked/run|Permission denied" train --env CartPole-v1 --out "$out/locked/run"
elif type -P setpriv >/dev/null && chmod 755 "$out" && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$corral"; then
    command="corral train --out $out/locked/run, as nobody"
    XDG_RUNTIME_DIR='' setpriv --reuid=65534 --regid=65534 --clear-groups "$corral" train --env CartPole-v1 --out "$out/locked/run" >"$out/stdout" 2>"$out/log" </dev/null
    code=$?
    expect_code 2
    expect_words "$out/locked/run" "Permission denied"
else
    echo "skipped, everything is writable to root: a folder without the right to write"
fi

# a port that is taken: by what else, and by a head
head=127.0.0.1:$(free_port)
"$corral" node --head --listen "$head" --slots 2 >"$out/head.log" 2>&1 </dev/null &
wait_for 10 alive_nodes "$head" 1 || fail "no head: $(cat "$out/head.log")"
corral node --head --listen "$head"
expect_code 2
expect_words "$head" "the port is taken" "--listen"
alive_nodes "$head" 1 || fail "the head is gone after another one wanted its port"

# a wrong token
for words in "status" "train --env CartPole-v1 --out $out/run" "node --join"; do
    # shellcheck disable=SC2086
    if [ "$words" = "node --join" ]; then set -- $words "$head"; else set -- $words --cluster "$head"; fi
    CORRAL_TOKEN=wrong corral "$@"
    expect_code 2
    expect_words "token" "$head"
done
not_even_a_folder
unset CORRAL_TOKEN

# a place for more workers than the cluster has
# shellcheck disable=SC2086
corral train $cart --workers 3 --cluster "$head"
expect_code 2
expect_words "3 CPUs asked for, the cluster has 2"
not_even_a_folder

# two clusters on one host, and two runs that bring their own: nobody is in anybody's way
second=127.0.0.1:$(free_port)
LD_LIBRARY_PATH=$CORRAL_BUILD/tests/fake_driver CORRAL_FAKE_GPUS=3 \
    "$corral" node --head --listen "$second" --slots 2 >"$out/second.log" 2>&1 </dev/null &
wait_for 10 alive_nodes "$second" 1 || fail "no second cluster: $(cat "$out/second.log")"
grep -q '"gpus": *3' "$out/status" || fail "a node whose driver shows 3 GPUs offers others: $(cat "$out/status")"
one() { # FOLDER ARGUMENTS...
    local folder=$1
    shift
    # shellcheck disable=SC2086
    train --env CartPole-v1 --workers 2 --seed 5 $small --out "$out/$folder" "$@" >"$out/$folder.log" 2>&1
}
pids=()
one first-cluster --cluster "$head" & pids+=($!)
one second-cluster --cluster "$second" & pids+=($!)
one own & pids+=($!)
one another & pids+=($!)
for pid in "${pids[@]}"; do wait "$pid" || fail "one of four runs at a time ended with $?: $(cat "$out"/*.log)"; done
for folder in second-cluster own another; do
    "$corral" compare "$out/first-cluster" "$out/$folder" >"$out/log" 2>&1 || fail "$folder differs"
done
corral status
expect_code 2
expect_words "$head" "$second" "--cluster"
ours | xargs -r kill -TERM
nothing_left "two clusters"
echo "resources are counted"
