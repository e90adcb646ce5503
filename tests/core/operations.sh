#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# The table of operations in core/README.md is what the headers declare. With --write, makes it so.
set -uo pipefail
export LC_ALL=C
core=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../core" && pwd) || exit 2

# The names that lines of a header declare with this beginning, without corral_.
names() {
    grep -oE "^$2corral_[a-z0-9_]+\\(" "$core/include/corral/core/$1" | sed -E 's/.*corral_//; s/\($//' | sort -u | paste -sd, | sed 's/,/, /g'
}

table() {
    local header operations
    echo "| header | operations | types |"
    echo "|---|---|---|"
    for header in ops.h elements.h shapes.h layers.h losses.h distributions.h; do
        operations=$(names "$header" 'corral_tensor \*')
        echo "| \`$header\` | $operations | f32, f64 |"
        [[ $header != shapes.h ]] || continue # what gives no tensor there works on a tape's
        operations=$(names "$header" 'void ')
        [[ -z $operations ]] || echo "| | without a tape: $operations | f32 |"
    done
}

readme=$core/README.md
made=$(table)
found=$(awk '/^<!-- \/operations -->$/ {inside = 0} inside {print} /^<!-- operations -->$/ {inside = 1}' "$readme")
if [[ ${1-} == --write ]]; then
    temporary=$(mktemp)
    awk -v table="$made" '/^<!-- \/operations -->$/ {inside = 0} !inside {print}
                          /^<!-- operations -->$/ {print table; inside = 1}' "$readme" >"$temporary"
    cat "$temporary" >"$readme"
    rm "$temporary"
    exit 0
fi
[[ $(wc -w <<<"$made") -gt 150 ]] || { echo "found hardly any operations"; exit 1; }
diff <(echo "$found") <(echo "$made") || { echo "core/README.md: run tests/core/operations.sh --write"; exit 1; }
