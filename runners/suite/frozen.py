"""Frozen cases: calls, inputs and expected results stored as data, so that a suite is the same on every machine.

A developer draws a suite once and stores it in one file (``PACK``) in the suite's package. The file has a manifest of
the cases in JSON, and for each dtype one long array that joins all arrays of the cases. Equal arrays are stored once.
Of an array that repeats along its axes, only one repetition is stored. A second file (``VARIANTS_PACK``) has the same
cases with other inputs, if there are any. The manifest can be read without the arrays. Reading needs only NumPy and
runs no code from the file (no pickle). An array's name is a digest of its content, so the digest of a case changes with
its values.

A tree (arguments or results of a call) is written as JSON. Numbers, texts and lists are written as they are, all other
values as an object with one of the keys below. ``Named`` stands for a value that only a framework can make, such as a
dtype or a device.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import math
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from protocol.enums import REFUSES
from runners.errors import UnfreezableError
from runners.suite.cases import Context, Function, Inputs, Prepare
from runners.suite.checks import Accepted, Expected, Leaf, Mismatch, Tolerance
from runners.suite.rounding import to_bfloat16

PACK = "frozen.npz"
"""The name of the file of frozen cases, beside the ``__init__.py`` of the suite's package."""
VARIANTS_PACK = "variants.npz"
"""The name of the file of variants, in the same folder."""
QUICK = "quick"
"""The tag of cases in the suite's quick form. It has about half of each function's cases: those that differ most."""
MANIFEST = "manifest"
DIGEST_LENGTH = 12
BFLOAT16 = "bfloat16"
"""NumPy has no bfloat16: such arrays are stored as their bits and read as float32."""
MOST_WHOLE = 4_096
"""The maximum number of elements of an array that is stored whole without a search for repetition."""
LONGEST_PERIOD = 64
_CHANGES_ITS_INPUT = "it changes its input"

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Named:
    """A value that only the framework can make: ``Named('dtype', 'float32')``, ``Named('device', '')``."""

    kind: str
    name: str


@dataclass(frozen=True)
class Slot:
    """A placeholder for an array in a tree: its index among the arrays of the case, and its memory layout."""

    number: int
    dtype: str | None = None
    """The dtype, if it is not the default for arrays of the case."""
    strides: tuple[int, ...] | None = None
    """The strides in elements, if the array is not contiguous."""
    offset: int | None = None
    """If the array is a slice of a larger buffer: how many rows the buffer has before it, and as many after it."""


def encode(tree: Any) -> Any:
    """Convert a tree to JSON types. Raises ``UnfreezableError`` for a value that cannot be written."""
    if tree is None or isinstance(tree, (bool, str)) or type(tree) is int:
        return tree
    if isinstance(tree, float):
        return float(tree) if math.isfinite(tree) else {"float": str(float(tree))}
    if isinstance(tree, complex):
        return {"complex": [encode(tree.real), encode(tree.imag)]}
    if isinstance(tree, Slot):
        written: dict[str, Any] = {"array": tree.number}
        if tree.dtype is not None:
            written["dtype"] = tree.dtype
        if tree.strides is not None:
            written["strides"] = list(tree.strides)
        if tree.offset is not None:
            written["offset"] = tree.offset
        return written
    if isinstance(tree, Named):
        return {tree.kind: tree.name, "named": 1}
    if isinstance(tree, list):
        return [encode(member) for member in tree]
    if isinstance(tree, tuple):
        return {"tuple": [encode(member) for member in tree]}
    if isinstance(tree, Mapping):
        return {"mapping": [[encode(key), encode(value)] for key, value in tree.items()]}
    if isinstance(tree, slice):
        return {"slice": [encode(part) for part in (tree.start, tree.stop, tree.step)]}
    if tree is Ellipsis:
        return {"ellipsis": 1}
    raise UnfreezableError(f"a {type(tree).__name__} has no written form")


def decode(written: Any, array: Callable[[Slot], Any], named: Callable[[Named], Any] = lambda value: value) -> Any:
    """Convert JSON types back to a tree. ``array`` returns the array of a ``Slot``, and ``named`` returns the value of
    a ``Named``."""
    if isinstance(written, list):
        return [decode(member, array, named) for member in written]
    if not isinstance(written, Mapping):
        return written
    kind, content = next(iter(written.items()))
    if "named" in written:
        return named(Named(kind, content))
    if kind == "array":
        strides = written.get("strides")
        layout = None if strides is None else tuple(strides)
        return array(Slot(content, written.get("dtype"), layout, written.get("offset")))
    if kind == "tuple":
        return tuple(decode(member, array, named) for member in content)
    if kind == "mapping":
        return {decode(key, array, named): decode(value, array, named) for key, value in content}
    if kind == "slice":
        return slice(*(decode(part, array, named) for part in content))
    if kind == "ellipsis":
        return Ellipsis
    if kind == "float":
        return float(content)
    if kind == "complex":
        return complex(*(decode(part, array, named) for part in content))
    raise UnfreezableError(f"nothing is written as {kind!r}: the file is of another version of this reader")


def as_text(tree: Any) -> str:
    """Write a tree as one line of JSON."""
    return json.dumps(encode(tree), separators=(",", ":"))


def stored(values: Array, dtype: str) -> Array:
    """Convert an array to its stored form. An array of bfloat16 is stored as its bits; other arrays keep their
    dtype."""
    if dtype == BFLOAT16:
        bits = to_bfloat16(np.asarray(values)).astype(np.float32).reshape(-1).view(np.uint32)
        return (bits >> np.uint32(16)).astype(np.uint16).reshape(np.shape(values))
    return np.ascontiguousarray(values, dtype=dtype).reshape(np.shape(values))


def restored(kept: Array, dtype: str) -> Array:
    """Copy an array from its stored form. The values of bfloat16 become float32."""
    if dtype == BFLOAT16:
        return (kept.astype(np.uint32) << np.uint32(16)).reshape(-1).view(np.float32).reshape(kept.shape)
    return kept.copy()


def repeat_to(block: Array, shape: Sequence[int]) -> Array:
    """Repeat a block along each axis until it fills the shape."""
    for axis, size in enumerate(shape):
        if size != block.shape[axis]:
            block = np.take(block, np.arange(size) % block.shape[axis], axis)
    return block


def block_of(array: Array) -> Array:
    """Return the smallest block from which ``repeat_to`` makes the array, or the array itself.

    A small array, or one without repetition, is returned whole. Values are compared bit by bit, so that NaN and the
    sign of zero are preserved.
    """
    if array.size <= MOST_WHOLE:
        return array
    bits = array.view([("bytes", "V", array.itemsize)])
    for axis, size in enumerate(array.shape):
        for period in range(1, min(LONGEST_PERIOD + 1, size)):
            first = np.take(bits, np.arange(period), axis)
            if repeat_to(first, bits.shape).tobytes() == bits.tobytes():
                bits = first
                break
    return np.ascontiguousarray(bits).view(array.dtype).reshape(bits.shape)


class PackWriter:
    """Collects the arrays and cases of a suite and writes them to one file."""

    def __init__(self) -> None:
        self._arrays: dict[str, tuple[str, Array, tuple[int, ...]]] = {}
        """For each digest: the dtype, the stored block, and the shape to which the block is repeated."""
        self.cases: list[dict[str, Any]] = []

    def add(self, values: Array, dtype: str) -> str:
        """Store an array and return its digest. Equal arrays are stored once."""
        stored_values = stored(values, dtype)
        head = f"{dtype} {list(stored_values.shape)} ".encode()
        digest = hashlib.sha256(head + stored_values.tobytes()).hexdigest()[:DIGEST_LENGTH]
        if digest not in self._arrays:
            self._arrays[digest] = dtype, block_of(stored_values), stored_values.shape
        return digest

    def add_tree(self, tree: Any) -> tuple[str, list[str]]:
        """Store the arrays of a host tree. Returns the tree as a text, and the digests of the arrays in its slots."""
        digests: list[str] = []

        def slots(member: Any) -> Any:
            if isinstance(member, Leaf):
                digests.append(self.add(member.values, member.dtype))
                return Slot(len(digests) - 1, member.dtype)
            if isinstance(member, (list, tuple)):
                return type(member)(map(slots, member))
            return {key: slots(value) for key, value in member.items()} if isinstance(member, Mapping) else member

        return as_text(slots(tree)), digests

    def array(self, digest: str) -> Array:
        """Return a copy of a stored array."""
        dtype, block, shape = self._arrays[digest]
        return restored(repeat_to(block, shape), dtype)

    def packed_bytes(self, digests: Iterable[str]) -> int:
        """Estimate how many bytes these arrays add to the file."""
        return sum(len(zlib.compress(self._arrays[digest][1].tobytes())) for digest in set(digests))

    def take(self, pack: Pack | PackSet, case: dict[str, Any]) -> None:
        """Copy a case with its arrays from another file."""
        for digest in (*case["arrays"], *case["expected"]):
            if digest not in self._arrays:
                self._arrays[digest] = pack.kept(digest)
        self.cases.append(case)

    def leave_to(self, pack: Pack) -> None:
        """Drop the arrays that another file of the same suite already has."""
        self._arrays = {digest: entry for digest, entry in self._arrays.items() if digest not in pack}

    def write(self, path: Path, about: Mapping[str, Any]) -> None:
        """Write the file; ``about`` says where the cases come from."""
        index: dict[str, list[Any]] = {}
        flat: dict[str, list[Array]] = {}
        offsets: dict[str, int] = {}
        for digest, (dtype, block, shape) in sorted(self._arrays.items(), key=lambda item: (item[1][0], item[0])):
            index[digest] = [dtype, offsets.get(dtype, 0), *block.shape]
            if block.shape != shape:
                index[digest].append(list(shape))
            offsets[dtype] = offsets.get(dtype, 0) + block.size
            flat.setdefault(dtype, []).append(block.ravel())
        manifest = json.dumps({"about": about, "arrays": index, "cases": self.cases}, separators=(",", ":"))
        members: dict[str, Any] = {dtype: np.concatenate(parts) for dtype, parts in flat.items()}
        members[MANIFEST] = np.frombuffer(manifest.encode(), np.uint8)
        np.savez_compressed(path, **members)


class Pack:
    """A file of frozen cases. The manifest is read when the pack is opened, and an array at its first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with np.load(path, allow_pickle=False) as file:
            self._manifest = json.loads(file[MANIFEST].tobytes())

    @property
    def about(self) -> Mapping[str, Any]:
        about: Mapping[str, Any] = self._manifest["about"]
        return about

    @property
    def cases(self) -> Sequence[dict[str, Any]]:
        cases: Sequence[dict[str, Any]] = self._manifest["cases"]
        return cases

    def array(self, digest: str) -> Array:
        """Return a copy of the array with this digest."""
        dtype, block, shape = self.kept(digest)
        return restored(repeat_to(block, shape), dtype)

    def kept(self, digest: str) -> tuple[str, Array, tuple[int, ...]]:
        """Return the dtype of an array, its stored block, and the shape to which the block is repeated."""
        dtype, offset, *shape = self._manifest["arrays"][digest]
        whole = shape.pop() if shape and isinstance(shape[-1], list) else shape
        block = self.arrays[dtype][offset : offset + math.prod(shape)].reshape(shape)
        return str(dtype), block, tuple(whole)

    def dtype(self, digest: str) -> str:
        return str(self._manifest["arrays"][digest][0])

    def __contains__(self, digest: str) -> bool:
        return digest in self._manifest["arrays"]

    @cached_property
    def arrays(self) -> Mapping[str, Array]:
        """For each dtype, one long array that joins all arrays of this dtype."""
        with np.load(self._path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files if name != MANIFEST}


class PackSet:
    """The files of a suite's package, read as one. The same digest means the same array in all of them."""

    def __init__(self, packs: Sequence[Pack]) -> None:
        self.packs = packs

    @property
    def cases(self) -> Sequence[dict[str, Any]]:
        return [case for pack in self.packs for case in pack.cases]

    def array(self, digest: str) -> Array:
        return self._having(digest).array(digest)

    def dtype(self, digest: str) -> str:
        return self._having(digest).dtype(digest)

    def kept(self, digest: str) -> tuple[str, Array, tuple[int, ...]]:
        """Return the stored form of an array (``Pack.kept``)."""
        return self._having(digest).kept(digest)

    def _having(self, digest: str) -> Pack:
        return next(pack for pack in self.packs if digest in pack)


def shape_in(pack_set: PackSet, digest: str) -> tuple[int, ...]:
    """Read the shape of an array from the manifest, without reading the array."""
    pack = next(pack for pack in pack_set.packs if digest in pack)
    _, _, *shape = pack._manifest["arrays"][digest]
    return tuple(shape[-1] if shape and isinstance(shape[-1], list) else shape)


_PACKS: dict[str, PackSet] = {}


def pack_of(package: str) -> PackSet:
    """Open the files of a suite's package. Later calls return the same files."""
    if package not in _PACKS:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise ValueError(f"there is no package {package!r} with frozen cases")
        _PACKS[package] = packs_in(Path(spec.origin).parent)
    return _PACKS[package]


def packs_in(folder: Path) -> PackSet:
    """Open the frozen file of a folder, and the file of variants if there is one."""
    variants = folder / VARIANTS_PACK
    return PackSet([Pack(folder / PACK), *([Pack(variants)] if variants.exists() else [])])


def read_arrays() -> None:
    """Read the arrays of every open file. The zygote calls this once, so that its children need not."""
    for pack_set in _PACKS.values():
        for pack in pack_set.packs:
            pack.arrays  # noqa: B018


@dataclass(frozen=True)
class FrozenArguments:
    """Reads the input arrays of a case from the file of its package."""

    package: str
    digests: tuple[str, ...]

    def __call__(self, inputs: Inputs) -> Sequence[Any]:
        pack = pack_of(self.package)
        return [pack.array(digest) for digest in self.digests]


@dataclass(frozen=True)
class FrozenResult:
    """Reads the expected result of a case, which was computed when the case was frozen."""

    package: str
    written: str
    digests: tuple[str, ...]

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        pack = pack_of(self.package)

        def leaf(slot: Slot) -> Any:
            digest = self.digests[slot.number]
            return Expected(pack.array(digest), slot.dtype or pack.dtype(digest))

        return decode(json.loads(self.written), leaf)


@dataclass(frozen=True)
class FrozenForm:
    """Checks the structure, shapes and dtypes of a result whose values are not determined."""

    written: str

    def of(self, labels: Collection[str]) -> FrozenForm:
        """Return the form of a mapping, reduced to these keys."""
        ((kind, members),) = json.loads(self.written).items()
        kept = {kind: [[label, member] for label, member in members if label in labels]}
        return FrozenForm(json.dumps(kept, separators=(",", ":")))

    def __call__(self, observed: Any, *arguments: Any, **options: Any) -> None:
        wanted = json.loads(self.written)
        found = json.loads(as_text(form(observed)))
        if found != wanted:
            raise Mismatch(f"expected the form {self.written}, got {as_text(form(observed))}")


@dataclass(frozen=True)
class Refusing:
    """Prepares a call that must raise an error. Returns the name of the error, or None if the call returned.

    The result and the arguments are copied to the host, because some devices raise only when somebody reads a value
    that the call made or changed. Each call gets new arguments, because some devices can compute nothing while the
    arguments of a failed call exist.
    """

    prepare: Prepare

    @property
    def written(self) -> str | None:
        """The written call, if the framework's ``prepare`` has one."""
        return getattr(self.prepare, "written", None)

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], str | None]:
        values = [array.values if isinstance(array, Leaf) else array for array in context.to_host(list(arrays))]

        def call() -> str | None:
            with context.surroundings():
                arguments = context.to_device(values)
            try:
                result = self.prepare(context, *arguments)()
                with context.surroundings():
                    context.to_host([result, arguments])
            except Exception as error:
                return type(error).__name__
            return None

        return call


@dataclass(frozen=True)
class FrozenRefusal:
    """Checks that a call raised any error. If it raised none, the message names the error that the host raises."""

    error: str

    def __call__(self, observed: Any, *arguments: Any, **options: Any) -> None:
        if observed is None:
            raise Accepted(f"the call was accepted, and the host refuses it with {self.error}")


def form(tree: Any) -> Any:
    """Return the form of a result: dtype and shape instead of each array, the type's name instead of other values."""
    if isinstance(tree, Leaf):
        return {"dtype": tree.dtype, "shape": list(tree.values.shape)}
    if isinstance(tree, (list, tuple)):
        return [form(member) for member in tree]
    if isinstance(tree, Mapping):
        return {str(key): form(member) for key, member in tree.items()}
    return type(tree).__name__


def frozen_functions(package: str, call: Callable[[str], Prepare]) -> list[Function]:
    """Read the functions in a package's frozen files. ``call`` makes a case's ``prepare`` from its written call."""
    functions: dict[str, Function] = {}
    for case in pack_of(package).cases:
        function = functions.setdefault(case["function"], Function(case["function"]))
        arguments = FrozenArguments(package, tuple(case["arrays"]))
        in_place = tuple(case["in_place"]) if "in_place" in case else False
        settings: dict[str, Any] = {
            "dtype": case["dtype"],
            "prepare": call(case["call"]),
            "in_place": in_place,
            "unrepeatable": _CHANGES_ITS_INPUT if in_place else None,
            "tags": [tag for tag in case["tags"] if tag != REFUSES],
        }
        if case["kind"] == "value":
            result = FrozenResult(package, case["result"], tuple(case["expected"]))
            function.value(
                case["name"], arguments, reference=result, tolerance=Tolerance(*case["tolerance"]), **settings
            )
        elif "refuses" in case:
            settings["prepare"] = Refusing(settings["prepare"])
            function.behaviour(case["name"], arguments, FrozenRefusal(case["refuses"]), refuses=True, **settings)
        else:
            function.behaviour(case["name"], arguments, FrozenForm(case["result"]), **settings)
    return list(functions.values())


def quick_functions(functions: Sequence[Function]) -> list[Function]:
    """Return the same functions with only the cases of the quick form."""
    return [
        dataclasses.replace(function, cases=[case for case in function.cases if QUICK in case.tags])
        for function in functions
    ]
