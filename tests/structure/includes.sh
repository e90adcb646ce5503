#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Includes point downwards: a layer includes only the layers that ARCHITECTURE.md puts below it, a library that belongs
# to one folder is included there alone, and no headers include each other in a circle.
set -uo pipefail
cd "$CORRAL_SOURCE" || exit 2

mapfile -t files < <(find core proto envs policy actors rllib -name '*.[ch]' | sort)
[[ ${#files[@]} -gt 50 ]] || { echo "found only ${#files[@]} files"; exit 1; }

awk '
BEGIN {
    # layer, and the layers that it may include beside itself
    below["base"] = ""
    below["core"] = "base"
    below["proto"] = "base"
    below["envs"] = "base"
    below["policy"] = "core proto base"
    below["actors"] = "proto base"
    below["net"] = "actors proto base"
    below["rllib"] = "policy envs actors net proto core base"
    below["view"] = "rllib policy envs core base"

    # who alone may include what others made
    owner["grpc/"] = "actors/net/rpc"
    owner["protobuf-c/"] = "actors/net/"
    owner["SDL2/"] = "rllib/view/"
    owner["cuda"] = "core/backends/cuda/"
}

function layer_of(path) {
    if (path ~ /^core\/base\//) return "base"
    if (path ~ /^actors\/net\//) return "net"
    if (path ~ /^rllib\/view\//) return "view"
    return substr(path, 1, index(path, "/") - 1)
}

function layer_named(include) { # "corral/base/rng.h" is of base, "corral/env.h" of envs
    if (include == "corral/env.h") return "envs"
    split(include, part, "/")
    return part[2]
}

function complain(text) { print FILENAME ":" FNR ": " text; failures++ }

function normal(path,   n) { # a/b/../c is a/c
    do n = gsub(/[^\/.]+\/\.\.\//, "", path); while (n > 0)
    return path
}

FNR == 1 { known[FILENAME] = 1; layer = layer_of(FILENAME); folder = FILENAME; sub(/[^\/]*$/, "", folder) }

/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    include = $0
    sub(/^[^<"]*[<"]/, "", include)
    sub(/[>"].*/, "", include)

    for (prefix in owner)
        if (index(include, prefix) == 1 && index(FILENAME, owner[prefix]) != 1)
            complain("<" include "> belongs into " owner[prefix] " alone")

    if (include ~ /^corral\//) {
        other = layer_named(include)
        if (other != layer && index(" " below[layer] " ", " " other " ") == 0)
            complain(layer " may not include " include)
    }
    edge[++edges] = FILENAME; include_of[edges] = include; folder_of[edges] = folder
}

# Takes away headers that include no header which is left, until none is left or a circle is.
END {
    for (file in known) {
        name = file
        if (sub(/^.*\/include\//, "", name)) public_file[name] = file
    }
    for (i = 1; i <= edges; i++) {
        if (include_of[i] in public_file) to[i] = public_file[include_of[i]]
        else {
            to[i] = normal(folder_of[i] include_of[i])
            if (!(to[i] in known)) { # found through the folder of its layer
                path = edge[i]
                to[i] = ""
                while (sub(/\/[^\/]*$/, "", path))
                    if ((path "/" include_of[i]) in known) { to[i] = path "/" include_of[i]; break }
            }
        }
        if (to[i] != "" && edge[i] ~ /\.h$/) wanted[edge[i]]++
    }
    do {
        removed = 0
        for (file in known) {
            if (wanted[file] > 0) continue
            delete known[file]
            removed++
            for (i = 1; i <= edges; i++) if (to[i] == file && edge[i] ~ /\.h$/) wanted[edge[i]]--
        }
    } while (removed > 0)
    for (file in known) { print file ": includes itself in a circle, or a header that does"; failures++ }
    exit failures > 0
}' "${files[@]}" || exit 1
echo "${#files[@]} files include downwards only"
