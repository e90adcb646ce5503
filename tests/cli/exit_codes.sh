#!/bin/bash
# The codes that scripts rely on.
. "$(dirname "$0")/common.sh"

train_short no-goal
expect_code 0 # a budget, and no goal to miss
[ "$(key no-goal/run.json stop_reason)" = steps ] || fail "stop_reason is $(key no-goal/run.json stop_reason)"

train_short missed stop.return=490 stop.steps=1024
expect_code 1
[ "$(key missed/run.json stop_reason)" = steps ] || fail "stop_reason is $(key missed/run.json stop_reason)"

train_short reached stop.return=1 stop.evaluations=1 evaluation.every=1024
expect_code 0
[ "$(key reached/run.json stop_reason)" = return ] || fail "stop_reason is $(key reached/run.json stop_reason)"

train_short time stop.steps=1000000000 stop.seconds=0.5
expect_code 0
[ "$(key time/run.json stop_reason)" = seconds ] || fail "stop_reason is $(key time/run.json stop_reason)"

# A disk that fills up: code 3, and the last good checkpoint is named and whole.
mkdir small
if mount -t tmpfs -o size=600k none small 2>/dev/null; then
    train_short small/run stop.steps=10000000 checkpoint.every=1024 evaluation.every=1024
    expect_code 3
    grep -q '^corral: .*[Nn]o space left' "$out/stderr" || fail "$command: the sentence does not say why"
    run eval small/run --episodes 1
    [ $code = 0 ] || fail "$command: no good checkpoint is left"
    umount small
else
    echo "skipped, no file system can be mounted here: a full disk"
fi
echo "codes are right"
