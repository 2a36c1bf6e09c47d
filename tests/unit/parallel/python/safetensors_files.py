#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
"""Files of Python's safetensors package are read, and those written here are read by it.

safetensors_files.py PROGRAM: PROGRAM is exchange_files. Exit status 77: the package is not there.
"""
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import safetensors
    from safetensors.numpy import load_file, save_file
except ImportError as missing:
    print(f"SKIPPED: {missing}; python3 -m pip install safetensors numpy, in an environment whose "
          "python3 HOCKET_TEST_PYTHON names")
    sys.exit(77)


def numbered(dtype, shape, first):
    count = int(np.prod(shape))
    values = np.arange(first, first + count)
    if dtype == np.bool_:
        values = values % 2 == 1
    return values.astype(dtype).reshape(shape)


def known_states():
    return {
        "layer.0.weight": numbered(np.float32, (5, 7), -3),
        "layer.0.bias": numbered(np.float64, (7,), 2),
        "half": numbered(np.float16, (3, 2, 2), 0),
        "ids": numbered(np.int64, (11,), 1_000_000_000_000),
        "small": numbered(np.int8, (4,), -2),
        "mask": numbered(np.bool_, (5,), 0),
        "bytes": numbered(np.uint8, (3,), 250),
        "words": numbered(np.uint16, (2,), 65_000),
        "scalar": numbered(np.int32, (), 42),
        "größe": numbered(np.uint32, (2,), 7),
        "empty": numbered(np.float32, (0, 4), 0),
    }


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        theirs = f"{folder}/theirs.safetensors"
        save_file(known_states(), theirs, metadata={"format": "np"})
        subprocess.run([program, "check", theirs], check=True)

        ours = f"{folder}/ours.safetensors"
        subprocess.run([program, "write", ours], check=True)
        with safetensors.safe_open(ours, framework="np") as file:
            assert file.metadata() == {"from": "hocket"}, file.metadata()
        got = load_file(ours)
        right = known_states()
        assert got.keys() == right.keys(), got.keys()
        for name, values in right.items():
            assert got[name].dtype == values.dtype, (name, got[name].dtype)
            assert got[name].shape == values.shape, (name, got[name].shape)
            assert np.array_equal(got[name], values), (name, got[name])
    print(f"{len(right)} tensors there and back, safetensors {safetensors.__version__}")


if __name__ == "__main__":
    main(sys.argv[1])
