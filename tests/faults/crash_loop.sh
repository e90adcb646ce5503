#!/bin/bash
# Workers that crash again and again: each is tried a few times, then stays down; the run ends only when none is left,
# with the reason, and what was finished before is kept.
. "$(dirname "$0")/common.sh"

# Every worker crashes in every episode.
# shellcheck disable=SC2086
corral train --env "$plugin:Abort-v0" env_params.always=1 $small --workers 2 max_restarts=1 --out "$out/loop"
expect_code 3
expect_words "no worker is left" "stays down after 2 ends in a row" "signal 6" "of Abort-v0, run seed 1, step 6" "wheels == 4" "--resume $out/loop"
[ "$(count loop workers_lost)" = 4 ] || fail "$(count loop workers_lost) workers lost instead of 4"
has loop stop_reason failed || fail "stop_reason is $(count loop stop_reason)"
[ "$(grep -c "signal 6" "$out/loop/log.txt")" -ge 4 ] || fail "the log does not tell of each: $(cat "$out/loop/log.txt")"
ls "$out/loop/checkpoints/0/manifest.json" >/dev/null || fail "no checkpoint of where the run stood"
nothing_left "a crash loop"

# An environment that cannot be made is refused before anything starts, even its run folder.
refused "always: 2 is outside 0 to 1" train --env "$plugin:Abort-v0" env_params.always=2 --out "$out/refused"
[ ! -e "$out/refused" ] || fail "a refused run left its folder"

# Hanging for ever is ended like crashing.
# shellcheck disable=SC2086
corral train --env "$plugin:Hang-v0" env_params.always=1 $small --workers 1 max_restarts=1 step_timeout=0.5 --out "$out/hang"
expect_code 3
expect_words "no worker is left" "gave nothing for 0.5 s" "of Hang-v0"
nothing_left "a run that hangs"

# So is an error in every episode, which costs no worker.
# shellcheck disable=SC2086
corral train --env "$plugin:Error-v0" env_params.always=1 $small --workers 1 --out "$out/error"
expect_code 3
expect_words "gearbox is stuck"
nothing_left "a run whose environment always fails"
echo "crash loops end"
