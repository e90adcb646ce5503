#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Each public header compiles alone, as C17 and as C++17; env.h, which plug-ins include, as strict C99 too.
set -uo pipefail
cd "$CORRAL_SOURCE" || exit 2
type -P c++ >/dev/null || { echo "skipped: no C++ compiler"; exit 77; }

mapfile -t headers < <(find . -path ./build -prune -o -path '*/include/corral/*' -name '*.h' -print | sort)
[[ ${#headers[@]} -gt 20 ]] || { echo "found only ${#headers[@]} public headers"; exit 1; }
includes=()
for header in "${headers[@]}"; do
    folder=${header%/corral/*} # the layer's include folder
    [[ " ${includes[*]} " == *" -I$folder "* ]] || includes+=("-I$folder")
done

warnings=(-Wall -Wextra -Werror -fsyntax-only)
failures=0
for header in "${headers[@]}"; do
    cc -x c -std=c17 -pedantic "${warnings[@]}" "${includes[@]}" "$header" || failures=$((failures + 1))
    c++ -x c++ -std=c++17 "${warnings[@]}" "${includes[@]}" "$header" || failures=$((failures + 1))
done
cc -x c -std=c99 -pedantic "${warnings[@]}" envs/include/corral/env.h || failures=$((failures + 1))

echo "${#headers[@]} public headers, $failures failures"
[[ $failures == 0 ]]
