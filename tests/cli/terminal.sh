#!/bin/bash
# The box on a terminal: it fits terminals of several sizes, in colour and without, in UTF-8 and without.
. "$(dirname "$0")/common.sh"
command -v script >/dev/null || { echo "no script(1) here"; exit 77; }
script -qec true /dev/null </dev/null >/dev/null 2>&1 || { echo "no pseudo-terminals here"; exit 77; }
escape=$(printf '\033')

# on_terminal COLUMNS ROWS SETTINGS...: a short run there; what came, in $out/stdout, without carriage returns
on_terminal() {
    local columns=$1 rows=$2
    shift 2
    rm -rf run
    command="on a terminal of $columns x $rows: $*"
    env TERM=xterm "$@" script -qec "stty cols $columns rows $rows; '$corral' train --env CartPole-v1 --workers 0 --out run stop.steps=20480 evaluation.episodes=5" /dev/null </dev/null >"$out/raw"
    code=$?
    tr -d '\r' <"$out/raw" >"$out/stdout"
    expect_code 0
}

# The last box as it stands, without colours and movements.
last_box() { sed "s/$escape\[[0-9;]*[A-Za-z]//g" "$out/stdout" | awk '/^(╭|\+-? )/ { box = "" } { box = box $0 "\n" } /^(╰|\+-+\+$)/ { last = box } END { printf "%s", last }'; }

# Characters, which awk counts as bytes on a small Debian.
widths() { last_box | LC_ALL=C.UTF-8 bash -c 'while IFS= read -r line; do echo ${#line}; done' | sort -u; }

for columns in 40 41 60 80 101 200; do
    on_terminal $columns 24 LANG=C.UTF-8
    [ "$(widths | wc -l)" = 1 ] || fail "$command: the box has lines of $(widths | tr '\n' ' ')columns"
    [ "$(widths)" -lt $columns ] || fail "$command: the box takes $(widths) columns"
done
for word in steps speed return evaluation time losses policy value learning fragments; do
    last_box | grep -q " $word " || fail "$command: no row called $word"
done
grep -q "$escape\[[0-9]*A" "$out/stdout" || fail "$command: nothing was drawn again in place"
grep -q "$escape\[2m" "$out/stdout" || fail "$command: no colour"

on_terminal 80 24 LANG=C.UTF-8 NO_COLOR=1
grep -qE "$escape\[[0-9;]*m" "$out/stdout" && fail "$command: colours in spite of NO_COLOR"

on_terminal 80 24 LANG=C
last_box | LC_ALL=C grep -q '[^ -~]' && fail "$command: letters that the locale does not have"
last_box | grep -q " steps " || fail "$command: no box"

on_terminal 80 8 LANG=C.UTF-8
[ "$(last_box | wc -l)" -lt 8 ] || fail "$command: $(last_box | wc -l) lines do not fit"

on_terminal 30 24 LANG=C.UTF-8
grep -q "╭" "$out/stdout" && fail "$command: a box where none fits"
grep -qE '^ *[0-9]+ steps ' "$out/stdout" || fail "$command: no lines instead of the box"

on_terminal 80 24 TERM=dumb
grep -q "$escape" "$out/stdout" && fail "$command: escape sequences"
echo "the box fits"
