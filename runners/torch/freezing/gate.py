"""The gate: a sample becomes a case if its result is right, the same twice, and the only right one; else it is listed.

What a function leaves open (random numbers, memory that nothing filled, the signs of eigenvectors) is judged by its
form alone: structure, shapes and dtypes. A reason stands for everything that is left out; nothing is dropped unsaid.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from runners.errors import LeftOutError, UnjudgedError
from runners.suite.checks import Leaf, leaves
from runners.suite.frozen import Named, PackWriter, Slot, as_text, encode, form
from runners.suite.rounding import rounded
from runners.torch.devices import Cpu
from runners.torch.freezing import references
from runners.torch.freezing.samples import Sample, chosen_first
from runners.torch.frozen import FrozenCall

SEEDS = 4
"""Seeds beside the first from which a result is looked at."""
MOST_RESULTS = 1_500
"""Elements of a result that is kept."""
KEPT: Mapping[str, tuple[int, int]] = {"function": (7, 3), "method": (4, 2), "in-place": (3, 2)}
"""Cases of a function in the first dtype that it is asked for, and in the second."""

UNINITIALISED = frozenset({"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"})
NOT_UNIQUE = frozenset(
    {
        "eig", "eigh", "geqrf", "lobpcg", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_unpack", "ldl_factor",
        "ldl_factor_ex", "pca_lowrank", "qr", "svd", "svd_lowrank", "symeig", "triangular_solve",
    }
)  # fmt: skip
"""Decompositions that are right with other signs, phases or pivots."""
FIRST_OF_EQUALS = frozenset({"argsort", "cummax", "cummin", "kthvalue", "median", "mode", "nanmedian", "sort", "topk"})
"""Functions that may return the place of any of several equal elements."""


@dataclass(frozen=True)
class Charted:
    """A public function through which an operator can be called."""

    name: str
    style: str
    """``function``, ``method`` or ``in-place``."""
    call: Callable[..., Any]


def charted(op: Any) -> Iterator[Charted]:
    """The operator as a public function, as a method of a tensor, and as one that works in place."""
    function = references.looked_up(torch, op.name)
    if function is not None and not op.name.startswith(("_", "ops.")):
        yield Charted(f"torch.{op.name}", "function", function)
    own = op.name.rpartition(".")[2]
    method = getattr(op.method_variant, "__name__", own) if op.method_variant else own if own == op.name else ""
    in_place = getattr(op.inplace_variant, "__name__", f"{own}_") if op.inplace_variant else ""
    if not in_place and op.name == own and not own.endswith("_"):
        in_place = f"{own}_"
    for name, style in ((method, "method"), (in_place, "in-place")):
        found = getattr(torch.Tensor, name, None) if name else None
        private = name.startswith("_") and not name.endswith("__")
        if callable(found) and not private:
            yield Charted(
                f"torch.Tensor.{name}", "in-place" if name.endswith("_") and name[-2:] != "__" else style, found
            )


class Gate:
    """Turns the samples of one operator into cases of one of its functions."""

    def __init__(self, op: Any, function: Charted, pack: PackWriter) -> None:
        self._op = op
        self._function = function
        self._pack = pack
        self._device = Cpu()
        self.cases: list[dict[str, Any]] = []
        self.left_out: list[tuple[str, str, str]] = []
        """The name of a sample, the kind of reason, and more about it."""

    def admit(self, samples: Sequence[Sample], most: int) -> None:
        """Add cases, at most so many; the samples beyond are counted as not needed."""
        admitted = 0
        for sample in chosen_first(samples):
            if admitted == most:
                self.left_out.append((sample.name, "enough of its function", ""))
                continue
            try:
                self.cases.append(self._case(sample))
                admitted += 1
            except LeftOutError as error:
                self.left_out.append((sample.name, error.kind, str(error)))

    def _case(self, sample: Sample) -> dict[str, Any]:
        function, call = self._function, sample.call
        if "no-array" in sample.kinds:
            call = self._forced(call)
        observed = self._observe(function.call, sample, call, 1)
        again = self._observe_others(sample, call, observed)
        self._require_same_as_operator(sample, call, observed, values=_equal(observed, again))
        if sum(leaf.values.size for leaf in leaves(observed)) > MOST_RESULTS:
            raise LeftOutError("large result", f"more than {MOST_RESULTS:,} elements")
        self._require_known(observed)
        if form(observed) != form(again):
            raise LeftOutError("not deterministic", "its form differs from run to run")
        case = {
            "function": function.name,
            "name": sample.name,
            "dtype": sample.dtype,
            "arrays": list(sample.arrays),
            "call": call,
            **self._changed(sample, call),
        }
        own = self._op.name.rpartition(".")[2]
        for reason, holds in (
            ("uninitialised", own in UNINITIALISED),
            ("not-unique", own in NOT_UNIQUE),
            ("random", not _equal(observed, again)),
        ):
            if holds:
                return case | {
                    "kind": "behaviour",
                    "result": as_text(form(observed)),
                    "expected": [],
                    "tags": [*sample.kinds, "form-only", reason],
                }
        self._require_unique(sample, call)
        judged = self._judged(sample, call, observed)
        if "in_place" in case:
            judged["tags"].append("changes-inputs")
        return case | judged

    def _judged(self, sample: Sample, call: str, observed: Any) -> dict[str, Any]:
        try:
            kind, expected = references.judge(
                self._op, sample.dtype, lambda: self._fresh(sample, call), self._function.call, observed
            )
        except UnjudgedError as error:
            raise LeftOutError("no reference agrees", str(error)) from error
        digests: list[str] = []
        tolerance = references.tolerance_of(self._op, sample.dtype, observed)

        def leaf(member: Any) -> Any:
            if isinstance(member, Leaf):
                digests.append(self._pack.add(member.values, member.dtype))
                return Slot(len(digests) - 1, member.dtype)
            if isinstance(member, (list, tuple)):
                return type(member)(map(leaf, member))
            return {key: leaf(value) for key, value in member.items()} if isinstance(member, Mapping) else member

        return {
            "kind": "value",
            "result": as_text(leaf(expected)),
            "expected": digests,
            "tolerance": [tolerance.relative, tolerance.absolute],
            "tags": [*sample.kinds, f"judged-by-{kind}"],
        }

    def _fresh(self, sample: Sample, call: str) -> Any:
        values = rounded([self._pack.array(digest) for digest in sample.arrays], sample.dtype)
        arrays = self._device.to_device(values, sample.dtype)
        return FrozenCall(call).arguments(arrays, self._device.handle)

    def _observe(self, function: Callable[..., Any], sample: Sample, call: str, seed: int) -> Any:
        self._device.seed(seed)
        try:
            arguments, options = self._fresh(sample, call)
            return self._device.to_host(function(*arguments, **options))
        except Exception as error:
            text = (str(error).strip().splitlines() or [""])[0]
            raise LeftOutError("raises on the CPU", f"{type(error).__name__}: {text[:160]}") from error

    def _observe_others(self, sample: Sample, call: str, first: Any) -> Any:
        """The result from another seed: the first that differs, for random numbers may be the same by chance."""
        for seed in range(2, 2 + SEEDS):
            again = self._observe(self._function.call, sample, call, seed)
            if not _equal(first, again):
                break
        return again

    def _changed(self, sample: Sample, call: str) -> dict[str, Any]:
        """The arguments that the call changes on the CPU: the first of a method in place, and a layer's statistics."""
        values = rounded([self._pack.array(digest) for digest in sample.arrays], sample.dtype)
        arrays = self._device.to_device(values, sample.dtype)
        before = self._device.to_host(self._device.to_device(values, sample.dtype))
        self._device.seed(1)
        arguments, options = FrozenCall(call).arguments(arrays, self._device.handle)
        self._function.call(*arguments, **options)
        after = self._device.to_host(arrays)
        places = {place for place, (one, other) in enumerate(zip(before, after)) if not _equal(one, other)}
        if self._function.style == "in-place" and sample.arrays:
            places.add(0)
        return {"in_place": sorted(places)} if places else {}

    def _forced(self, call: str) -> str:
        """The call with the device among its options, if the function takes one and none is there."""
        arguments, options = json.loads(call)["tuple"]
        if any(key == "device" for key, _ in options["mapping"]) or not _takes_device(self._function.call):
            return call
        options["mapping"].append(["device", encode(Named("device", ""))])
        return json.dumps({"tuple": [arguments, options]}, separators=(",", ":"))

    def _require_same_as_operator(self, sample: Sample, call: str, observed: Any, *, values: bool) -> None:
        """The function by its public name must do what the operator's own tests call: of random numbers, in form."""
        if self._function.call is self._op.op:
            return
        own = self._observe(self._op.op, sample, call, 1)
        if form(observed) != form(own) or (values and not _equal(observed, own)):
            raise LeftOutError("another function than the operator's tests call", "")

    def _require_known(self, observed: Any) -> None:
        found = {kind for kind in _kinds(observed) if kind not in ("Leaf", "bool", "int", "float", "complex", "str")}
        if found:
            raise LeftOutError("returns what has no written form", ", ".join(sorted(found)))

    def _require_unique(self, sample: Sample, call: str) -> None:
        own = self._op.name.rpartition(".")[2]
        if own not in FIRST_OF_EQUALS or '"stable",true' in call:
            return
        for digest in sample.arrays:
            values = self._pack.array(digest)
            if np.unique(values).size < values.size:
                raise LeftOutError("not unique", "elements are equal, and it may return the place of any")


def _takes_device(function: Any) -> bool:
    try:
        return "device" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return "device=" in (function.__doc__ or "")


def _kinds(tree: Any) -> Iterator[str]:
    if isinstance(tree, (list, tuple)):
        for member in tree:
            yield from _kinds(member)
    elif isinstance(tree, Mapping):
        for member in tree.values():
            yield from _kinds(member)
    elif tree is not None:
        yield type(tree).__name__


def _equal(one: Any, other: Any) -> bool:
    """Whether two host copies are the same to the bit, NaN equal to NaN."""
    if json.loads(as_text(form(one))) != json.loads(as_text(form(other))):
        return False
    return all(
        np.array_equal(a.values, b.values, equal_nan=a.values.dtype.kind in "fc")
        for a, b in zip(leaves(one), leaves(other))
    )
