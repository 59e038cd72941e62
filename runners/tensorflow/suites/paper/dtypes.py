"""Cases of ``tf.dtypes.as_dtype``, which finds the type of arrays. The reference is NumPy's description of the type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function

Check = Callable[..., None]
NUMERIC = (
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "complex64", "complex128", "bool"),
)


def attributes_of(context: Context, *, given: Mapping[str, Any]) -> Callable[[], Any]:
    """Prepare the attributes of the type that the function finds for each given value."""
    return lambda: {key: facts(context.function(value)) for key, value in given.items()}


def facts(dtype: Any) -> dict[str, Any]:
    return {
        "name": dtype.name,
        "size": dtype.size,
        "floating": dtype.is_floating,
        "complex": dtype.is_complex,
        "integer": dtype.is_integer,
        "unsigned": dtype.is_unsigned,
    }


def numpy_facts(name: str) -> dict[str, Any]:
    kind = np.dtype(name)
    return {
        "name": name,
        "size": kind.itemsize,
        "floating": kind.kind == "f",
        "complex": kind.kind == "c",
        "integer": kind.kind in "iu",
        "unsigned": kind.kind == "u",
    }


def expect(wanted: Any) -> Check:
    def check(observed: Any, **_: Any) -> None:
        assert observed == wanted, f"of {wanted} it made {observed}"

    return check


def known(names: Mapping[str, str]) -> Check:
    """Return a check that the type for each key has this name, and the attributes of NumPy's type."""
    return expect({key: numpy_facts(name) for key, name in names.items()})


def no_inputs(_: Any) -> Any:
    return []


as_dtype = Function(
    "tf.dtypes.as_dtype",
    prepare=attributes_of,
)
SAME = known({name: name for name in NUMERIC})
as_dtype.behaviour("names", no_inputs, SAME, given={name: name for name in NUMERIC})
as_dtype.behaviour("numpy-types", no_inputs, SAME, given={name: np.dtype(name).type for name in NUMERIC})
as_dtype.behaviour("numpy-dtypes", no_inputs, SAME, given={name: np.dtype(name) for name in NUMERIC})
as_dtype.behaviour("its-own-types", no_inputs, SAME, given={name: getattr(tf, name) for name in NUMERIC})
as_dtype.behaviour(
    "other-names",
    no_inputs,
    known({"half": "float16", "float": "float32", "double": "float64"}),
    given={"half": "half", "float": "float", "double": "double"},
)
# The numbers of the types in tensorflow/core/framework/types.proto. They are part of TensorFlow's file formats.
ENUMERATED = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int64": 9, "bool": 10, "float16": 19, "uint64": 23}
as_dtype.behaviour("numbers", no_inputs, known({name: name for name in ENUMERATED}), given=ENUMERATED)
as_dtype.behaviour(
    "python-types",
    no_inputs,
    known({"float": "float32", "bool": "bool"}),
    given={"float": float, "bool": bool},
)


def names_of(context: Context, *, given: Sequence[Any]) -> Callable[[], Any]:
    return lambda: [context.function(dtype).name for dtype in given]


WITHOUT = ("bfloat16", "string", "resource", "variant", "qint8", "quint8", "qint32")
as_dtype.behaviour("without-a-numpy-type", no_inputs, expect(list(WITHOUT)), prepare=names_of, given=WITHOUT)
SMALL = ("float8_e5m2", "float8_e4m3fn", "int4", "uint4")
as_dtype.behaviour("eight-and-four-bits", no_inputs, expect(list(SMALL)), prepare=names_of, given=SMALL)
as_dtype.behaviour(
    "strings-of-numpy",
    no_inputs,
    expect(["string"] * 3),
    prepare=names_of,
    given=(np.dtype("S7"), np.dtype("U3"), object),
)


def bounds(context: Context, *, names: Sequence[str]) -> Callable[[], Any]:
    return lambda: [[context.function(dtype).min, context.function(dtype).max] for dtype in names]


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
as_dtype.behaviour(
    "bounds-of-integers",
    no_inputs,
    expect([[np.iinfo(dtype).min, np.iinfo(dtype).max] for dtype in INTEGERS]),
    prepare=bounds,
    names=INTEGERS,
)


def relations(context: Context) -> Callable[[], Any]:
    def call() -> dict[str, bool]:
        kind = context.function
        return {
            "the same object": kind("float32") is kind(np.float32) is tf.float32,
            "real of complex": kind("complex64").real_dtype == tf.float32,
            "back to NumPy": kind("int16").as_numpy_dtype is np.int16,
            "as an enum": kind(kind("float64").as_datatype_enum) == tf.float64,
            "equal to its name": kind("int32") == "int32",
            "another type is not equal": kind("int32") != kind("int64"),
        }

    return call


def check_relations(observed: Any) -> None:
    wrong = [name for name, holds in observed.items() if holds is not True]
    assert not wrong, f"these do not hold: {wrong}"


as_dtype.behaviour("relations", no_inputs, check_relations, prepare=relations)


def unknown(context: Context, *, given: Sequence[Any]) -> Callable[[], Any]:
    def call() -> list[str]:
        found = []
        for dtype in given:
            try:
                found.append(context.function(dtype).name)
            except TypeError:
                found.append("TypeError")
        return found

    return call


def check_unknown(observed: Any, *, given: Sequence[Any]) -> None:
    assert observed == ["TypeError"] * len(given), f"of no types it made {observed}"


as_dtype.behaviour(
    "refuses-what-is-no-type", no_inputs, check_unknown, prepare=unknown, given=("float33", "", 4711, np.datetime64)
)

FUNCTIONS: list[Function] = [as_dtype]
