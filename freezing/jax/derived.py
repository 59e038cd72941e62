"""Derive samples from frozen cases: compiled under ``jax.jit``, differentiated, or with other values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import jax
from freezing.common.differences import weights_of
from freezing.common.kinds import kinds_of
from freezing.common.samples import NO_ARRAY, Sample
from freezing.common.variants import Call, Variant, in_dtype, slots
from protocol.enums import GRADIENT
from runners.errors import UnfreezableError
from runners.jax.devices import Cpu
from runners.jax.frozen import FrozenCall
from runners.jax.ways import JIT, SECOND_ORDER, WAYS
from runners.suite.cases import seed_of
from runners.suite.frozen import PackWriter, Slot, encode
from runners.suite.recording.replay import WAY, arrays_in
from runners.suite.rounding import dtype_on_device

KINDS = {"plain", "empty", "0-dim", "broadcast", NO_ARRAY, "real", "low-precision", "integer", "boolean", "complex"}
"""The tags that describe the arrays of a case."""
DTYPE = "float32"
"""The dtype of the cases that are differentiated."""
WIDE, WHOLE = "float64", "int32"


def sample_of(case: Mapping[str, Any], pack: PackWriter) -> Sample:
    """Reconstruct the sample from which a case was made."""
    kinds = [tag for tag in case["tags"] if tag in KINDS]
    elements = sum(pack.array(digest).size for digest in case["arrays"])
    return Sample(case["name"], case["dtype"], case["call"], tuple(case["arrays"]), tuple(kinds), elements)


def compile_sample(sample: Sample) -> Sample:
    """Put a sample's call under ``jax.jit``. Raise ``UnfreezableError`` if it takes no array that could be traced."""
    if not sample.arrays:
        raise UnfreezableError("it takes no array")
    return _in_way(replace(sample, kinds=(*sample.kinds, JIT)), JIT, json.loads(sample.call)["tuple"])


def differentiate(sample: Sample, function: Any, pack: PackWriter) -> Sample:
    """Make the sample of the gradients of a weighted sum of the results, with respect to each floating input.

    Raise ``UnfreezableError`` if the call takes or returns no floating array.
    """
    device = Cpu()
    arrays = device.to_device([pack.array(digest) for digest in sample.arrays], sample.dtype)
    arguments, options = FrozenCall(sample.call).arguments(arrays, device.handle)
    inputs = list(arrays_in((arguments, options), jax.Array))
    places = [place for place, array in enumerate(inputs) if str(array.dtype) == sample.dtype and array.size]
    if not places:
        raise UnfreezableError("it takes no array to differentiate by")
    results = list(arrays_in(function(*arguments, **options), jax.Array))
    weights = [result if jax.numpy.issubdtype(result.dtype, jax.numpy.inexact) else None for result in results]
    if not any(weight is not None and weight.size for weight in weights):
        raise UnfreezableError("nothing that it returns has a gradient")
    return _weigh(sample, GRADIENT, [*json.loads(sample.call)["tuple"], places], weights, pack)


def differentiated_again(gradient: Sample, pack: PackWriter) -> Sample:
    """Make the sample of the gradients of a weighted sum of a sample's gradients."""
    parts = json.loads(gradient.call)["tuple"]
    device = Cpu()
    arrays = device.to_device([pack.array(digest) for digest in gradient.arrays], gradient.dtype)
    arguments, options, places, _ = FrozenCall(gradient.call).arguments(arrays, device.handle)
    inputs = list(arrays_in((arguments, options), jax.Array))
    return _weigh(gradient, SECOND_ORDER, parts, [inputs[place] for place in places], pack)


def vary(sample: Sample, variant: Variant, function: str, pack: PackWriter) -> Sample | None:
    """Apply a variant (other values, size or dtype) to a sample's call. Return None if it does not apply."""
    call = _call_of(sample, function, pack)
    new_call = variant.of(call)
    return None if new_call is None else _write(sample, call, new_call, variant.name, variant.tags, pack)


def of_whole_numbers(sample: Sample, function: str, pack: PackWriter) -> Sample:
    """Replace the floats of a sample by integers."""
    call = _call_of(sample, function, pack)
    return _write(sample, call, in_dtype(WHOLE, call), WHOLE, (), pack)


def settle(sample: Sample, pack: PackWriter) -> Sample:
    """Replace NaN, infinities, zeros and ones in arrays that contain NaN or infinity by numbers between -2.9 and 2.9.

    For most functions of one array, the first case has such an array, and variants need it as their base. Zeros and
    ones are replaced because many functions have a kink there.
    """
    arrays = list(sample.arrays)
    rng = np.random.default_rng(seed_of(sample.name))
    for place, digest in enumerate(arrays):
        values = pack.array(digest)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            ordinary = np.asarray(rng.uniform(-2.9, 2.9, values.shape), values.dtype)
            special = ~np.isfinite(values) | np.isin(values, (-1, 0, 1))
            arrays[place] = pack.add(np.where(special, ordinary, values), dtype_on_device(values, sample.dtype))
    return replace(sample, arrays=tuple(arrays))


def _call_of(sample: Sample, function: str, pack: PackWriter) -> Call:
    return Call(
        f"{function}/{sample.name}",
        sample.dtype,
        frozenset(sample.kinds),
        tuple(map(pack.array, sample.arrays)),
        json.loads(sample.call),
        frozenset(inputs_of(sample)),
    )


def _write(sample: Sample, call: Call, new_call: Call, name: str, tags: Sequence[str], pack: PackWriter) -> Sample:
    """Make the sample of a changed call."""
    arrays = tuple(
        digest if after is before else pack.add(after, dtype_on_device(after, new_call.dtype))
        for digest, before, after in zip(sample.arrays, call.arrays, new_call.arrays, strict=True)
    )
    shapes = [new_call.arrays[number].shape for number in inputs_of(sample)]
    ways = [kind for kind in sample.kinds if kind in WAYS]
    return replace(
        sample,
        name=f"{sample.name}-{name}",
        dtype=new_call.dtype,
        call=json.dumps(new_call.written, separators=(",", ":")),
        arrays=arrays,
        kinds=(*kinds_of(shapes, new_call.dtype), *ways, *tags),
        elements=sum(array.size for array in new_call.arrays),
    )


def in_float64(sample: Sample, pack: PackWriter) -> Sample:
    """Convert a sample to float64."""
    arrays = tuple(pack.add(values, dtype_on_device(values, WIDE)) for values in map(pack.array, sample.arrays))
    return replace(sample, name=sample.name.replace(DTYPE, WIDE), dtype=WIDE, arrays=arrays)


def inputs_of(sample: Sample) -> list[int]:
    """Return the numbers of a call's input arrays. Its other arrays are factors by which results are weighted."""
    arguments = json.loads(sample.call)["tuple"][:2]
    return sorted({slot["array"] for slot in slots(arguments)})


def _weigh(sample: Sample, way: str, parts: Sequence[Any], results: Sequence[Any], pack: PackWriter) -> Sample:
    """Make a sample whose call ends with weights: one array for each result that has a gradient."""
    arrays = list(sample.arrays)
    weights: list[Any] = []
    for result in results:
        if result is None:
            weights.append(None)
            continue
        dtype = str(result.dtype)
        arrays.append(pack.add(weights_of(result.shape), DTYPE))
        weights.append(encode(Slot(len(arrays) - 1, None if dtype == DTYPE else dtype)))
    with_results = replace(sample, arrays=tuple(arrays), kinds=(*sample.kinds, way))
    return _in_way(with_results, way, [*parts, weights])


def _in_way(sample: Sample, way: str, parts: Sequence[Any]) -> Sample:
    call = json.dumps({"tuple": list(parts), WAY: way}, separators=(",", ":"))
    return replace(sample, name=f"{sample.name}-{way}", call=call)


def by_plainness(samples: Sequence[Sample]) -> list[Sample]:
    """Sort samples by their fitness for differentiation: float32 first, then plain ones, then larger ones."""
    return sorted(samples, key=lambda one: (one.dtype != DTYPE, "plain" not in one.kinds, -one.elements))
