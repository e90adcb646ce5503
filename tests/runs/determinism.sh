#!/bin/bash
# One seed, one set of environments: no number of workers or threads, and no transport, changes a bit.
. "$(dirname "$0")/common.sh"
config=$CORRAL_SOURCE/examples/cartpole-ppo-zoo.yaml
small="stop.steps=4096 evaluation.every=2048 evaluation.episodes=5 network.normalize_observation=true"
seed=9
one() {
    local name=$1
    shift
    # shellcheck disable=SC2086
    train "$config" --seed "$seed" $small --out "$out/$name" "$@" >"$out/log" 2>&1 || fail "$name ended with $?"
}
one reference --workers 0 threads=1
one two-threads --workers 0 threads=2
one three-threads --workers 0 threads=3
one one-worker --workers 1 threads=2
one two-workers --workers 2 threads=1
one four-workers --workers 4
one grpc --workers 2 transport=grpc
one faults --workers 2 transport=grpc faults=lose=0.1,duplicate=0.1,seed=3
for run in two-threads three-threads one-worker two-workers four-workers grpc faults; do
    "$corral" compare "$out/reference" "$out/$run" >"$out/log" 2>&1 || fail "reference and $run differ"
done
[ "$(key "$out/grpc/run.json" fragments_remote)" -gt 0 ] || fail "transport=grpc moved nothing over grpc"
seed=10
one other --workers 0
"$corral" compare "$out/reference" "$out/other" >"$out/log" 2>&1 && fail "two seeds give the same run"
echo "8 runs equal"
