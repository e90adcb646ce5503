#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Policies as ONNX, against onnx's checker and onnxruntime. CORRAL_ONNX_PYTHON names a python3 that has both; without
# it they are installed from PyPI into a folder of the build.
set -uo pipefail

skip() { echo "skipped: $*"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$CORRAL_BUILD/tests/test_policy_onnx" "$folder" >"$folder/log" || { cat "$folder/log"; exit 1; }
python=${CORRAL_ONNX_PYTHON:-}
if [[ -z $python ]]; then
    venv=$CORRAL_BUILD/onnx-venv
    python=$venv/bin/python
    if ! "$python" -c 'import onnx, onnxruntime' 2>/dev/null; then
        python3 -m venv "$venv" || skip "python3 cannot make a virtual environment"
        "$python" -m pip install --quiet onnx onnxruntime numpy || skip "onnx and onnxruntime cannot be installed"
    fi
fi
"$python" "$CORRAL_SOURCE/tests/policy/onnx_check.py" "$folder"
