#!/bin/bash
# The plug-in header stands alone: C99 with every warning, and C++, with this header as the only include folder.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-Wall -Wextra -Werror -pedantic-errors -fsyntax-only -I "$CORRAL_SOURCE/envs/include")

cat >"$work/alone.c" <<'END'
#include "corral/env.h"
static const corral_env_type types[1] = {{sizeof(corral_env_type), "Empty-v0"}};
CORRAL_ENV_EXPORT(types, 1);
END
cp "$work/alone.c" "$work/alone.cpp"

"${CC:-cc}" -std=c99 "${flags[@]}" -Wno-missing-field-initializers "$work/alone.c"
echo "C99: fine"
if command -v "${CXX:-c++}" >/dev/null; then
    for standard in c++11 c++17; do
        "${CXX:-c++}" -std=$standard "${flags[@]}" -Wno-missing-field-initializers "$work/alone.cpp"
        echo "$standard: fine"
    done
fi
