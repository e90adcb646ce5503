#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Files stay small, say their licence, hold nothing unfinished and no path of somebody's machine; scripts parse.
set -uo pipefail
cd "$CORRAL_SOURCE" || exit 2
failures=0
complain() { printf '%s\n' "$1"; failures=$((failures + 1)); }

# Without git (an unpacked archive) everything that is not built counts.
list() {
    git ls-files 2>/dev/null | grep . || find . -type f -not -path './.git/*' -not -path './build/*' -not -path './runs/*' | cut -c3-
}
mapfile -t files < <(list | grep -vE '^tests/(golden|fuzz/corpus)/|^LICENSE$')
[[ ${#files[@]} -gt 100 ]] || { echo "found only ${#files[@]} files"; exit 1; }

for file in "${files[@]}"; do
    [[ -f $file ]] || continue
    case $file in
    *.c | *.h)
        read -r first <"$file"
        [[ $first == *"SPDX-License-Identifier: Apache-2.0"* ]] || complain "$file: the first line is not the licence's"
        lines=$(wc -l <"$file")
        [[ $lines -le 800 ]] || complain "$file: $lines lines are more than 800; it does more than one thing"
        ;;
    *.sh) bash -n "$file" || complain "$file: bash cannot read it" ;;
    esac
done

# The brackets keep this file from finding itself.
unfinished='TO[D]O|FIX[M]E|\bXX[X]\b'
elsewhere='(^|[^A-Za-z0-9_.}/-])/(ho[m]e|wo[r]k|Us[e]rs)/'
while IFS= read -r line; do complain "$line"; done < <(grep -nIE "$unfinished|$elsewhere" "${files[@]}" /dev/null)

# Everything that git knows fits into a page of a review.
while IFS= read -r file; do
    [[ -f $file && $(wc -c <"$file") -gt 1000000 ]] && complain "$file: more than a megabyte"
done < <(list)

echo "${#files[@]} files, $failures complaints"
[[ $failures == 0 ]]
