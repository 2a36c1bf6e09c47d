#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
"""Tensors go to NumPy and back through DLPack: python3 dlpack_numpy.py BRIDGE.so

Exit status 77 where there is no NumPy. The capsules are made and taken apart here, by Python's own
functions, so that the library needs nothing of Python.
"""
import ctypes
import gc
import sys
import weakref
from ctypes import c_char_p, c_int, c_int64, c_size_t, c_void_p, py_object

try:
    import numpy as np
except ImportError as why:
    print(f"SKIPPED: {sys.executable} has no NumPy ({why}); Debian's package is python3-numpy")
    sys.exit(77)

# What both sides know, by the library's name. NumPy has no bf16 and no f8, and its older versions
# do not exchange bool.
DTYPES = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32,
          "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "f16": np.float16,
          "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}
SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4), (0,), (4, 0, 3), (1, 1, 1, 1, 1, 1, 1, 2)]
FRESH, USED = b"dltensor", b"used_dltensor"  # capsules keep pointers to their names

bridge = ctypes.CDLL(sys.argv[1])  # its calls give the interpreter's lock up
python = ctypes.pythonapi


def declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments


for declaration in [("last_error", c_char_p), ("owners_let_go", c_int),
                    ("make_arange", c_void_p, c_char_p, c_void_p, c_int, c_int64),
                    ("make_transposed", c_void_p, c_void_p, c_int, c_int),
                    ("make_slice", c_void_p, c_void_p, c_int, c_int64, c_int64),
                    ("drop", None, c_void_p), ("drop_on_another_thread", None, c_void_p),
                    ("describe", c_char_p, c_void_p), ("is_arange", c_int, c_void_p, c_int64),
                    ("copy_elements", c_void_p, c_void_p, c_void_p, c_size_t),
                    ("set_first_byte", None, c_void_p, c_int),
                    ("export_tensor", c_void_p, c_void_p), ("import_tensor", c_void_p, c_void_p),
                    ("delete_managed", None, c_void_p)]:
    declare(bridge, *declaration)
declare(python, "PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
declare(python, "PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
declare(python, "PyCapsule_SetName", c_int, py_object, c_char_p)
declare(python, "PyCapsule_IsValid", c_int, py_object, c_char_p)


def checked(pointer):
    assert pointer, bridge.last_error().decode()
    return pointer


def arange(dtype, shape, start=0):
    extents = (c_int64 * max(len(shape), 1))(*shape)
    return checked(bridge.make_arange(dtype.encode(), extents, len(shape), start))


class Exported:
    """What np.from_dlpack wants: a tensor of the library."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.capsule = None

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, stream=None):
        managed = checked(bridge.export_tensor(self.tensor))
        self.capsule = python.PyCapsule_New(managed, FRESH, None)
        return self.capsule


def to_numpy(tensor):
    source = Exported(tensor)
    array = np.from_dlpack(source)
    assert python.PyCapsule_IsValid(source.capsule, USED), "NumPy has not taken the capsule over"
    return array


class Writable:
    """The same memory without the mark that keeps NumPy from exporting what it has imported."""

    def __init__(self, array):
        self.held = array
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = dict(array.__array_interface__, data=(address, False))


def from_numpy(array):
    capsule = array.__dlpack__()
    tensor = bridge.import_tensor(python.PyCapsule_GetPointer(capsule, FRESH))
    if tensor:
        python.PyCapsule_SetName(capsule, USED)
    return tensor  # else the capsule still owns it


def elements(tensor, like):
    out = np.empty(like.shape, like.dtype)
    checked(bridge.copy_elements(tensor, out.ctypes.data, out.nbytes))
    return out


def numbers(dtype, shape, start=0):
    count = int(np.prod(shape, dtype=np.int64))
    return np.arange(start, start + count).astype(DTYPES[dtype]).reshape(shape)


def every_dtype_and_shape_arrives_in_numpy():
    for dtype in DTYPES:
        for shape in SHAPES:
            tensor = arange(dtype, shape, 3)
            array = to_numpy(tensor)
            bridge.drop(tensor)
            want = numbers(dtype, shape, 3)
            assert array.dtype == want.dtype and array.shape == want.shape, (dtype, shape)
            assert np.array_equal(array, want), (dtype, shape, array)


def every_dtype_and_shape_arrives_from_numpy():
    for dtype in DTYPES:
        for shape in SHAPES:
            tensor = checked(from_numpy(numbers(dtype, shape, 5)))
            want = f"{dtype}[{','.join(map(str, shape))}]"
            assert bridge.describe(tensor).decode() == want, bridge.describe(tensor)
            assert bridge.is_arange(tensor, 5), (dtype, shape)
            bridge.drop(tensor)


def views_keep_their_strides():
    whole = arange("i32", (4, 5, 6))
    turned = checked(bridge.make_transposed(whole, 0, 2))
    part = checked(bridge.make_slice(turned, 1, 1, 3))
    array = to_numpy(part)
    want = numbers("i32", (4, 5, 6)).transpose(2, 1, 0)[:, 1:4]
    assert np.array_equal(array, want) and array.strides == want.strides, array.strides
    again = checked(from_numpy(np.asarray(Writable(array))))
    assert np.array_equal(elements(again, want), want)
    for tensor in (whole, turned, part, again):
        bridge.drop(tensor)

    base = numbers("f64", (6, 7, 8))
    views = [base.T, base[::2, 1:, ::3], base[2], base[:, 3, 5], base[1:1], base[5, 6, 7:],
             np.lib.stride_tricks.as_strided(base, (3, 4), (0, 8))]
    for view in views:
        tensor = checked(from_numpy(view))
        assert np.array_equal(elements(tensor, view), view), view.strides
        bridge.drop(tensor)


def both_sides_see_one_memory():
    tensor = arange("u8", (3, 3))
    array = to_numpy(tensor)
    bridge.set_first_byte(tensor, 200)
    assert array[0, 0] == 200
    bridge.drop(tensor)

    array = numbers("i16", (2, 3))
    tensor = checked(from_numpy(array.T))
    array[1, 2] = -7
    assert elements(tensor, array.T)[2, 1] == -7
    bridge.drop(tensor)


def a_tensor_lives_as_long_as_the_last_array():
    before = bridge.owners_let_go()
    tensor = arange("f32", (5, 7), 1)
    first, second = to_numpy(tensor), to_numpy(tensor)
    row = first[3]
    bridge.drop(tensor)
    del first
    gc.collect()
    assert bridge.owners_let_go() == before
    assert np.array_equal(row, numbers("f32", (5, 7), 1)[3])
    del row
    gc.collect()
    assert bridge.owners_let_go() == before and second[4, 6] == 35
    del second
    gc.collect()
    assert bridge.owners_let_go() == before + 1

    tensor = arange("f32", (2,))
    array = to_numpy(tensor)
    del array  # this time the array goes first
    gc.collect()
    assert bridge.owners_let_go() == before + 1 and bridge.is_arange(tensor, 0)
    bridge.drop(tensor)
    assert bridge.owners_let_go() == before + 2


def an_array_lives_as_long_as_the_last_tensor():
    for drop in (bridge.drop, bridge.drop_on_another_thread):
        array = numbers("u32", (3, 4), 9)
        alive = weakref.ref(array)
        tensor = checked(from_numpy(array))
        part = checked(bridge.make_slice(tensor, 0, 1, 1))
        del array
        gc.collect()
        assert alive() is not None and bridge.is_arange(tensor, 9)
        drop(tensor)
        assert alive() is not None and bridge.is_arange(part, 13)
        drop(part)
        gc.collect()
        assert alive() is None, "the producer's deleter was not called"

    array = numbers("u32", (3, 4))
    references = sys.getrefcount(array)
    tensor = checked(from_numpy(array))
    bridge.drop(tensor)  # this time the tensor goes first
    assert sys.getrefcount(array) == references, "the producer's deleter was not called once"
    assert array[2, 3] == 11


def a_round_trip_calls_both_deleters_once():
    before = bridge.owners_let_go()
    outer = arange("c64", (2, 5), 4)
    array = np.asarray(Writable(to_numpy(outer)))
    bridge.drop(outer)
    inner = checked(from_numpy(array))
    alive = weakref.ref(array)
    del array
    gc.collect()
    assert alive() is not None and bridge.owners_let_go() == before
    assert bridge.is_arange(inner, 4)
    bridge.drop(inner)
    gc.collect()
    assert alive() is None
    assert bridge.owners_let_go() == before + 1


def a_capsule_that_nobody_takes_is_the_producers_to_delete():
    before = bridge.owners_let_go()
    tensor = arange("i64", (3,))
    managed = checked(bridge.export_tensor(tensor))
    bridge.drop(tensor)
    assert bridge.owners_let_go() == before
    bridge.delete_managed(managed)
    assert bridge.owners_let_go() == before + 1

    array = numbers("i64", (3,))
    alive = weakref.ref(array)
    assert not from_numpy(array[::-1])
    assert "negative" in bridge.last_error().decode(), bridge.last_error()
    del array
    gc.collect()
    assert alive() is None, "a refused array was kept"


for case in [every_dtype_and_shape_arrives_in_numpy, every_dtype_and_shape_arrives_from_numpy,
             views_keep_their_strides, both_sides_see_one_memory,
             a_tensor_lives_as_long_as_the_last_array, an_array_lives_as_long_as_the_last_tensor,
             a_round_trip_calls_both_deleters_once,
             a_capsule_that_nobody_takes_is_the_producers_to_delete]:
    case()
    print("passed:", case.__name__.replace("_", " "))
print(f"NumPy {np.__version__}: all passed")
