#!/bin/bash
# soak.sh [ITERATIONS] [TRANSPORT]: a long run in which a worker is killed every two seconds. Memory, descriptors and
# threads of the learner, its agent and its workers stay what they were; nothing of what was lost is missing in the end.
. "$(dirname "$0")/common.sh"
iterations=${1:-400000}
transport=${2:-shared_memory}
steps=$((iterations * 64))
# shellcheck disable=SC2086
"$corral" train --env CartPole-v1 --workers 2 --seed 8 transport=$transport envs=4 ppo.steps=16 ppo.minibatch=64 ppo.epochs=1 network.hidden=[16] \
    evaluation.every=$((steps / 10)) evaluation.episodes=5 checkpoint.every=$((steps / 100)) stop.steps=$steps --out "$out/run" --quiet >"$out/log" 2>&1 </dev/null &
run=$!

children() { pgrep -P "$1"; }
# sample: a line "rss descriptors threads" of the learner, of the agent, and of the two workers together (rss in KiB)
of() {
    local rss=0 fds=0 threads=0 p
    for p in "$@"; do
        rss=$((rss + $(awk '/^VmRSS/ { print $2 }' "/proc/$p/status" 2>/dev/null || echo 0)))
        fds=$((fds + $(ls "/proc/$p/fd" 2>/dev/null | wc -l)))
        threads=$((threads + $(awk '/^Threads/ { print $2 }' "/proc/$p/status" 2>/dev/null || echo 0)))
    done
    echo "$rss $fds $threads"
}
# Taken between kills, when both workers are at work again; the first ones are not counted, as buffers still grow.
two() { [ "$(workers | wc -l)" = 2 ]; }
kills=0
while kill -0 $run 2>/dev/null; do
    for _ in 1 2 3 4; do
        sleep 0.5
        kill -0 $run 2>/dev/null || break 2
    done
    two || continue
    agent=$(children $run | head -n 1)
    # shellcheck disable=SC2046
    line="$(of $run) $(of "$agent") $(of $(workers))"
    two && echo "$line" >>"$out/samples"
    kill -9 "$(workers | shuf -n 1)" 2>/dev/null && kills=$((kills + 1))
done
wait $run
code=$?
command="the soak run"
expect_code 0
nothing_left "a soak run"
[ "$(count run workers_lost)" -ge $((kills * 9 / 10)) ] || fail "$kills workers killed, $(count run workers_lost) counted"
has run env_steps $steps || fail "$(count run env_steps) steps instead of $steps"

# The middle values of the second tenth and of the last tenth of the samples.
awk -v kills=$kills -v run="$(count run workers_lost)" '
    { for (i = 1; i <= 9; i++) value[i, NR] = $i }
    function middle(column, from, to,   n, i, j, t, list) {
        for (i = from; i <= to; i++) list[++n] = value[column, i]
        for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
        return list[int((n + 1) / 2)]
    }
    END {
        if (NR < 20) { print "only " NR " samples: nothing is said about growth"; exit 0 }
        split("learner KiB,learner descriptors,learner threads,agent KiB,agent descriptors,agent threads,workers KiB,workers descriptors,workers threads", name, ",")
        tenth = int(NR / 10)
        for (i = 1; i <= 9; i++) {
            before = middle(i, tenth + 1, 3 * tenth)
            after = middle(i, NR - 2 * tenth + 1, NR)
            allowed = i % 3 == 1 ? before * 0.05 + 1024 : 2
            printf "%-20s %8d -> %8d\n", name[i], before, after
            if (after - before > allowed) { print "it grows: " name[i]; bad = 1 }
        }
        print NR " samples, " kills " workers killed, " run " counted"
        exit bad
    }' "$out/samples" || fail "something grows"
