"""The torch functions that a recording may contain: functions that compute or create arrays.

Torch itself lists most of these functions: functions and methods that take arrays and can be overridden, and functions
that create an array on a device. The rule in ``suite/recording/rule.py`` decides which of them are allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import torch
from torch.overrides import get_overridable_functions, resolve_name
from torch.utils import _device

from runners.suite.recording import rule

READS = frozenset(
    {
        "item", "tolist", "numpy", "cpu", "__array__", "__bool__", "__int__", "__float__", "__complex__", "__index__",
        "__repr__", "__format__",
    }
)  # fmt: skip
"""Methods that give values to Python, or move an array to the host."""
NOT_COMPUTING = rule.refused_names("torch") | {
    "__deepcopy__", "__reduce_ex__", "__setstate__", "__dlpack__", "__dlpack_device__", "__get__", "__set__",
    "__delete__",
}  # fmt: skip
"""Methods that change settings or belong to memory management, pickling or Python itself."""
_COMPUTES = re.compile(
    r"torch\.(\w+_|as_strided|fill|normal|vander)|torch\.Tensor\.(new_\w+|unflatten)"
    r"|torch\.nn\.functional\.(\w+_|hardsigmoid|hardswish|sigmoid|tanh|upsample\w*)|torch\.nn\.init\.\w+_"
)
"""Functions that compute, but that torch does not list as overridable. Most of them work in place."""


@cache
def recordable() -> frozenset[Any]:
    """Return the functions that a recording may contain."""
    return frozenset(_candidates())


@cache
def recordable_names() -> frozenset[str]:
    """Return all public names of the functions that a recording may contain."""
    return frozenset(filter(None, map(public_name, _candidates())))


def public_name(function: Any) -> str | None:
    """Return the public name of a torch function; None if the function has no public name."""
    try:
        name = resolve_name(function)
    except TypeError:
        # The object has no hash, so torch cannot look it up.
        return None
    if name is None:
        return None
    owner, _, last = name.rpartition(".")
    owner = "torch" if owner == "torch.functional" else owner
    own = getattr(function, "__name__", last)
    # If a function has several names, torch returns any of them: ``torch.spmm`` for ``torch.mm``.
    if owner == "torch" and getattr(torch, own, None) == function:
        last = own
    parts = (*owner.split("."), last)
    is_public = not any(part.startswith("_") and not part.endswith("__") for part in parts)
    return f"{owner}.{last}" if is_public else None


def _candidates() -> Iterator[Any]:
    overridable = (function for functions in get_overridable_functions().values() for function in functions)
    in_place = (
        function
        for owner in (torch, torch.Tensor, torch.nn.functional, torch.nn.init)
        for function in map(partial(getattr, owner), dir(owner))
        if callable(function) and _COMPUTES.fullmatch(public_name(function) or "")
    )
    for function in (*overridable, *_device._device_constructors(), *in_place):
        name = public_name(function)
        if name is not None and name.rpartition(".")[2] not in READS and rule.refusal("torch", name) is None:
            yield function
