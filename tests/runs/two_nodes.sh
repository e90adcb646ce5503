#!/bin/bash
# Two nodes joined over TCP, a worker on each; then the far node is killed in the middle of a run.
. "$(dirname "$0")/common.sh"
export XDG_RUNTIME_DIR=$out/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
port=$((20000 + RANDOM % 12000))
head=127.0.0.1:$port
"$corral" node --head --listen $head --slots 2 >"$out/head" 2>&1 </dev/null &
status() { "$corral" status --cluster $head --json </dev/null >"$out/status" 2>/dev/null; }
wait_for 10 status || fail "no head: $(cat "$out/head")"
"$corral" node --join $head --slots 2 >"$out/far" 2>&1 </dev/null &
far=$!
nodes() { status && [ "$(grep -o '"alive": *true' "$out/status" | wc -l)" = "$1" ]; }
wait_for 10 nodes 2 || fail "no two nodes: $(cat "$out/status" "$out/far")"
"$corral" status --cluster $head </dev/null >"$out/table" || fail "status: $(cat "$out/table")"
for node in 1 2; do # the table says which is which
    grep -qE "^$node +127\.0\.0\.1:[0-9]+ .* alive$" "$out/table" || fail "no line of node $node: $(cat "$out/table")"
done
config=$CORRAL_SOURCE/examples/cartpole-ppo.yaml
train "$config" --cluster $head --workers 2 --seed 3 --out "$out/run" >"$out/log" 2>&1 || fail "training ended with $?"
[ "$(key "$out/run/run.json" fragments_remote)" -gt 0 ] || fail "nothing came from the other node"
at_least "$(mean "$out/run" --seed 77)" 475 || fail "evaluates at $(key "$out/eval.json" mean_return)"

zoo=$CORRAL_SOURCE/examples/cartpole-ppo-zoo.yaml
train "$zoo" --cluster $head --workers 2 stop.steps=40000 --out "$out/hit" >"$out/log" 2>&1 &
run=$!
sleep 0.3
kill -9 $far
wait $run || fail "the run ended with $? after its far node was killed"
gone() { status && [ "$(grep -o '"alive": *true' "$out/status" | wc -l)" = 1 ]; }
wait_for 5 gone || fail "the head still counts the killed node: $(cat "$out/status")"
ours | xargs -r kill -TERM
wait_for 8 none_left || fail "$(ours | wc -l) processes left"
echo "two nodes work, and one of them may die"
