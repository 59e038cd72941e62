"""Draw samples: the calls with which torch tests an operator, from its OpInfo."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

import torch
from freezing.common.kinds import kinds_of
from freezing.common.samples import MOST_ELEMENTS, Drawn, Sample
from runners.errors import UnfreezableError
from runners.suite.frozen import PackWriter, Slot, encode
from runners.suite.rounding import dtype_on_device
from runners.torch.frozen import WAY
from runners.torch.ways import tensors_in
from runners.torch.writing import numpy_of, plain, strides_of

MOST_READ = 150
"""The maximum number of samples of an operator and dtype that are read."""
OTHER_DTYPES = ("int64", "bfloat16", "complex64", "float16", "bool", "float64", "int32")
"""Besides float32, an operator is drawn in one of these dtypes that it supports. Its name seeds the choice."""


def dtypes_of(op: Any) -> list[str]:
    """Return the dtypes in which an operator is drawn: float32 and one more, as supported on the CPU."""
    dtypes = {str(dtype).removeprefix("torch.") for dtype in op.supported_dtypes("cpu")}
    others = [dtype for dtype in OTHER_DTYPES if dtype in dtypes]
    random.Random(op.name).shuffle(others)
    return [*(["float32"] if "float32" in dtypes else others[1:2]), *others[:1]]


def seed() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def draw(op: Any, dtype: str, pack: PackWriter) -> Drawn:
    """Read the operator's samples in a dtype. Errors of its generator are not caught."""
    seed()
    draws = Drawn()
    read = op.sample_inputs("cpu", getattr(torch, dtype), requires_grad=False)
    prefix = prefix_of(op, dtype)
    for number, sample in enumerate(itertools.islice(read, MOST_READ)):
        arguments, options = [sample.input, *sample.args], dict(sample.kwargs)
        for name, change in ((f"{prefix}-{number}", False), (f"{prefix}-{number}-strided", True)):
            if change and (number or not reverse_axes(arguments)):
                continue
            try:
                parts = (reverse_axes(arguments), reverse_axes(options) or options) if change else (arguments, options)
                frozen_sample = write(name, dtype, parts, pack)
            except UnfreezableError as error:
                draws.left_out.append((name, str(error)))
                continue
            draws.add(frozen_sample)
    return draws


def prefix_of(op: Any, dtype: str) -> str:
    """Return the prefix of the names of an operator's samples."""
    return "-".join(filter(None, (dtype, op.variant_test_name)))


def reverse_axes(tree: Any) -> Any:
    """Copy the tree with the axes of each array reversed in memory. Return None if no array has several axes."""
    members = []

    def turn(member: Any) -> Any:
        if isinstance(member, torch.Tensor):
            if member.layout is torch.strided and member.ndim > 1 and member.numel() > 1:
                members.append(member)
                axes = tuple(reversed(range(member.ndim)))
                return member.detach().permute(axes).clone(memory_format=torch.contiguous_format).permute(axes)
            return member
        if type(member) in (list, tuple):
            return type(member)(map(turn, member))
        return {key: turn(value) for key, value in member.items()} if type(member) is dict else member

    result = turn(tree)
    return result if members else None


def write(
    name: str,
    dtype: str,
    call: Any,
    pack: PackWriter,
    *,
    way: str = "",
    inputs: Any = None,
    kinds: Sequence[str] = (),
) -> Sample:
    """Write a call as a sample, and add its arrays to the pack. Raise ``UnfreezableError`` if it cannot be written.

    ``way`` is the name of another way to call the function, or empty for a plain call. The arrays in ``inputs``, or by
    default in the arguments and options, decide the kinds of input. ``kinds`` are added to these.
    """
    tensors = list(tensors_in(call[:2] if inputs is None else inputs))
    elements = sum(tensor.numel() for tensor in tensors_in(call))
    if elements > MOST_ELEMENTS:
        raise UnfreezableError(f"more than {MOST_ELEMENTS:,} elements of inputs")
    arrays: list[str] = []

    def leaf(tensor: torch.Tensor) -> Slot:
        values, own = numpy_of(tensor)
        device_dtype = dtype_on_device(values, dtype)
        arrays.append(pack.add(values, own))
        return Slot(len(arrays) - 1, None if own == device_dtype else own, strides_of(tensor))

    text = json.dumps(encode(plain(call, leaf)) | ({WAY: way} if way else {}), separators=(",", ":"))
    own_kinds = kinds_of(
        [tuple(tensor.shape) for tensor in tensors],
        dtype,
        has_strides=any(not tensor.is_contiguous() for tensor in tensors),
    )
    return Sample(name, dtype, text, tuple(arrays), (*own_kinds, *kinds), elements)
