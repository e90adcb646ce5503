#!/bin/bash
# A damaged checkpoint is refused by eval and --resume in one sentence that names the file, quickly, before anything is
# started, and the run stays as it was. A full disk ends a run with its last good checkpoint whole.
. "$(dirname "$0")/common.sh"
# shellcheck disable=SC2086
train --env CartPole-v1 --workers 2 --seed 4 $small stop.steps=1024 --out "$out/good" >"$out/log" 2>&1 || fail "training ended with $?"

damaged() { # WORDS DAMAGE...: the damage is done by a command inside the checkpoint folder of a copy
    local words=$1 before
    shift
    rm -rf "$out/bad" "$out/eval"
    cp -r "$out/good" "$out/bad"
    (cd "$out/bad/checkpoints/1024" && "$@") || fail "cannot do: $*"
    before=$(cd "$out/bad" && find . -type f -newer "$out/good/run.json" | sort; cat "$out/bad/progress.csv" "$out/bad/run.json")
    refused "$words" eval "$out/bad"
    refused "$words" train --resume "$out/bad" stop.steps=2048 --quiet
    refused "$words" train --env CartPole-v1 --init-from "$out/bad" --out "$out/eval"
    [ ! -e "$out/eval" ] || fail "$*: a refused run left its folder"
    [ "$before" = "$(cd "$out/bad" && find . -type f -newer "$out/good/run.json" | sort; cat "$out/bad/progress.csv" "$out/bad/run.json")" ] || fail "$*: a refused resume changed the run"
}
flip() { # FILE OFFSET: all bits of one byte
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "$(printf '\\x%02x' $((byte ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
nested() { # FILE: JSON so deep that a careless reader runs out of stack
    { head -c 2000000 /dev/zero | tr '\0' '['; } >"$1"
}

for file in policy.safetensors optimizer.safetensors state.json; do
    size=$(stat -c %s "$out/good/checkpoints/1024/$file")
    damaged "$file|bytes instead of the $size in manifest.json" truncate -s $((size / 2)) $file
    damaged "$file|bytes instead of the $size in manifest.json" truncate -s 0 $file
    damaged "$file|bytes instead of the $size in manifest.json" truncate -s 1T $file
    for offset in 0 9 $((size / 2)) $((size - 1)); do
        damaged "$file: checksum differs" flip $file $offset
    done
    damaged "$file" rm $file
    damaged "$file" bash -c "rm $file && mkdir $file"
    damaged "$file" bash -c "rm $file && mkfifo $file"
done
size=$(stat -c %s "$out/good/checkpoints/1024/manifest.json")
damaged "manifest.json" truncate -s $((size / 2)) manifest.json
damaged "manifest.json" truncate -s 1T manifest.json
damaged "manifest.json" nested manifest.json
damaged "manifest.json" bash -c "rm manifest.json && mkfifo manifest.json"
damaged "manifest.json|no proper size" sed -i 's/"size":[[:space:]]*[0-9]*/"size": 9223372036854775807/' manifest.json
damaged "bytes instead of the 1099511627776" sed -i 's/"size":[[:space:]]*[0-9]*/"size": 1099511627776/' manifest.json

# without a manifest it is no checkpoint
rm -rf "$out/bad"
cp -r "$out/good" "$out/bad"
rm "$out/bad/checkpoints/1024/manifest.json"
refused "is not a checkpoint|no manifest.json" eval "$out/bad"

# whoever was killed while writing left a temporary folder: the last whole checkpoint counts, the rest is cleaned away
rm -rf "$out/bad"
cp -r "$out/good" "$out/bad"
cp -r "$out/bad/checkpoints/1024" "$out/bad/checkpoints/2048.tmp-1"
rm "$out/bad/checkpoints/2048.tmp-1/manifest.json"
corral eval "$out/bad"
expect_code 0

# a disk that fills up
mkdir "$out/disk"
if mount -t tmpfs -o size=600k none "$out/disk" 2>/dev/null; then
    trap 'umount "$out/disk" 2>/dev/null; finish' EXIT
    # shellcheck disable=SC2086
    corral train --env CartPole-v1 --workers 2 --seed 4 $small stop.steps=100000000 checkpoint.every=1024 checkpoint.keep=1000 --out "$out/disk/run"
    expect_code 3
    expect_words "No space left on device" "the last checkpoint that could be written is in" "--resume $out/disk/run"
    named=$(grep -o "is in $out/disk/run/checkpoints/[0-9]*" "$out/log" | cut -d' ' -f3)
    corral eval "$named"
    expect_code 0
    nothing_left "a full disk"
    # on a larger one it goes on as if nothing had happened
    cp -r "$out/disk/run" "$out/moved"
    step=$(basename "$named")
    train --resume "$out/moved" stop.steps=$((step + 2048)) schedule_steps=100000 >"$out/log" 2>&1 || fail "resume ended with $?"
    # shellcheck disable=SC2086
    train --env CartPole-v1 --workers 0 --seed 4 $small stop.steps=$((step + 2048)) schedule_steps=100000 --out "$out/calm" >"$out/log" 2>&1 || fail "the calm run ended with $?"
    "$corral" compare "$out/calm" "$out/moved" >"$out/log" 2>&1 || fail "after a full disk it is another run"
    umount "$out/disk"
    trap finish EXIT
else
    echo "skipped, no file system can be mounted here: a full disk"
    code=77
fi
echo "damaged checkpoints are refused"
[ "${code:-0}" = 77 ] && exit 77
exit 0
