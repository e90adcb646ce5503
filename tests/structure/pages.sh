#!/bin/bash
# Each key of an algorithm and of networks, and each metric, is on the algorithms' pages.
ppo=$CORRAL_SOURCE/rllib/ppo/ppo.md dqn=$CORRAL_SOURCE/rllib/dqn/dqn.md code=0
keys() { grep -oE "\"$1\.[a-z_]+\"" "$CORRAL_SOURCE/rllib/config.c" | tr -d '"' | sed 's/^[a-z]*\.//'; }
metrics() { grep -oE '"(time|rollout|eval|train|runtime)/[a-z_]+"' "$CORRAL_SOURCE/rllib/run/run_folder.c" | tr -d '"' | sed 's/^[a-z]*\///'; }
on() { # on WHAT PAGE...: the words of the input
    local what=$1 word
    shift
    while read -r word; do
        grep -qwF -- "$word" "$@" && continue
        echo "$what \"$word\" is not on ${*##*/}"
        code=1
    done
}
on "the key" "$ppo" < <(keys ppo)
on "the key" "$dqn" < <(keys dqn)
on "the key" "$ppo" < <(keys network)
on "the key" "$ppo" < <(keys evaluation)
on "the metric" "$ppo" "$dqn" < <(metrics)
[ "$(metrics | wc -l)" -gt 30 ] && [ "$(keys dqn | wc -l)" -gt 20 ] || { echo "the tables of keys and metrics were not found"; code=1; }
exit $code
