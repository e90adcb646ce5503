# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# onnx_check.py FOLDER: each model is a sound one, and onnxruntime says of its observations what acting said.
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

failed = checked = 0
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rows = {}
    for line in path.with_suffix(".txt").read_text().splitlines():
        name, *numbers = line.split()
        rows.setdefault(name, []).append([float(x) for x in numbers])
    names = [output.name for output in session.get_outputs()]
    results = session.run(None, {"observation": np.array(rows.pop("observation"), dtype=np.float32)})
    if set(names) != set(rows):
        print(f"{path.stem}: outputs {names} instead of {sorted(rows)}")
        failed += 1
        continue
    for name, result in zip(names, results):
        expected = np.array(rows[name]).reshape(result.shape)
        exact = result.dtype.kind == "i"
        checked += 1
        if not (np.array_equal(result, expected) if exact else np.allclose(result, expected, rtol=2e-5, atol=2e-5)):
            print(f"{path.stem}: {name} is\n{result}\ninstead of\n{expected}")
            failed += 1
print(f"{checked} outputs compared, {failed} differ")
sys.exit(failed > 0 or checked == 0)
