"""Frozen cases: calls, inputs and expected results kept as data, so that a suite is the same wherever it is read.

A developer draws a suite once, and stores it beside its package in one file (``PACK``). The file has a manifest of the
cases in JSON, and for each dtype one long array with all arrays of the cases. Equal arrays are stored once; of an array
that repeats along its axes one repetition is stored. A second file (``VARIANTS_PACK``) has the same cases with other
inputs, if there are any. The manifest can be read without the arrays. Reading needs only NumPy and runs no code from
the file (no pickle). An array's name is a digest of its content, so a case's own digest follows its values.

A tree (what a call takes or returns) is written as JSON: numbers, texts and lists as themselves, anything else as an
object of one of the keys below. What only a framework knows (a dtype, a device) is ``Named``, and resolved by it.
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
"""The file's name, beside the ``__init__.py`` of the suite's package."""
VARIANTS_PACK = "variants.npz"
"""The name of the file of variants, beside it."""
QUICK = "quick"
"""The tag of the cases of the quick form: of each function about half, those that differ most."""
MANIFEST = "manifest"
DIGEST_LENGTH = 12
BFLOAT16 = "bfloat16"
"""NumPy has no such dtype: kept by its bits, read as float32."""
MOST_WHOLE = 4_096
"""Elements up to which an array is kept whole, whether or not it repeats."""
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
    """The place of an array in a tree: its number among the arrays of the case, and how the framework lays it out."""

    number: int
    dtype: str | None = None
    """Its dtype, where it is not the one that an array of the case has by itself."""
    strides: tuple[int, ...] | None = None
    """Its strides in elements, where it is not contiguous."""
    offset: int | None = None
    """The rows of its buffer before the first and after the last of its own, where it is a part of a larger one."""


def encode(tree: Any) -> Any:
    """A tree in JSON's own types. Raises ``UnfreezableError`` for a value without a written form."""
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
    """The tree that was written; ``array`` fills its slots, ``named`` makes what only a framework knows."""
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
    """A tree as one line of JSON."""
    return json.dumps(encode(tree), separators=(",", ":"))


def stored(values: Array, dtype: str) -> Array:
    """The array as it is kept: a bfloat16's bits, anything else in its own dtype."""
    if dtype == BFLOAT16:
        bits = to_bfloat16(np.asarray(values)).astype(np.float32).reshape(-1).view(np.uint32)
        return (bits >> np.uint32(16)).astype(np.uint16).reshape(np.shape(values))
    return np.ascontiguousarray(values, dtype=dtype).reshape(np.shape(values))


def restored(kept: Array, dtype: str) -> Array:
    """A copy of a kept array: of bfloat16 the same values as float32."""
    if dtype == BFLOAT16:
        return (kept.astype(np.uint32) << np.uint32(16)).reshape(-1).view(np.float32).reshape(kept.shape)
    return kept.copy()


def repeat_to(block: Array, shape: Sequence[int]) -> Array:
    """The array of a shape that a block fills again and again along each axis."""
    for axis, size in enumerate(shape):
        if size != block.shape[axis]:
            block = np.take(block, np.arange(size) % block.shape[axis], axis)
    return block


def block_of(array: Array) -> Array:
    """The smallest block that ``repeat_to`` makes the array of; the array itself where it is small, or repeats nowhere.

    Compared bit by bit, so that the sign of a zero and a NaN are kept.
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
    """Gathers the arrays and cases of a suite, and writes them into one file."""

    def __init__(self) -> None:
        self._arrays: dict[str, tuple[str, Array, tuple[int, ...]]] = {}
        """By digest: the dtype, the block that is kept, and the shape that it is repeated to."""
        self.cases: list[dict[str, Any]] = []

    def add(self, values: Array, dtype: str) -> str:
        """Keep an array, and return its digest; equal ones are kept once."""
        stored_values = stored(values, dtype)
        head = f"{dtype} {list(stored_values.shape)} ".encode()
        digest = hashlib.sha256(head + stored_values.tobytes()).hexdigest()[:DIGEST_LENGTH]
        if digest not in self._arrays:
            self._arrays[digest] = dtype, block_of(stored_values), stored_values.shape
        return digest

    def add_tree(self, tree: Any) -> tuple[str, list[str]]:
        """Keep the arrays of a host tree, and return the tree as a text with the digests of its slots."""
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
        """A copy of an array that was added."""
        dtype, block, shape = self._arrays[digest]
        return restored(repeat_to(block, shape), dtype)

    def packed_bytes(self, digests: Iterable[str]) -> int:
        """About how many bytes these arrays add to the file."""
        return sum(len(zlib.compress(self._arrays[digest][1].tobytes())) for digest in set(digests))

    def take(self, pack: Pack | PackSet, case: dict[str, Any]) -> None:
        """Add a case of another file, with its arrays."""
        for digest in (*case["arrays"], *case["expected"]):
            if digest not in self._arrays:
                self._arrays[digest] = pack.kept(digest)
        self.cases.append(case)

    def leave_to(self, pack: Pack) -> None:
        """Forget the arrays that another file of the same suite has."""
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
    """A frozen file. The manifest is read at once, arrays when they are asked for."""

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
        """A copy of the array of that digest."""
        dtype, block, shape = self.kept(digest)
        return restored(repeat_to(block, shape), dtype)

    def kept(self, digest: str) -> tuple[str, Array, tuple[int, ...]]:
        """The dtype, the block that is kept, and the shape that it is repeated to."""
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
        """All arrays behind one another, by dtype."""
        with np.load(self._path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files if name != MANIFEST}


class PackSet:
    """The files of a suite's package, read as one: a digest names the same array in each."""

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
        """The stored form of the array in the file that has it (``Pack.kept``)."""
        return self._having(digest).kept(digest)

    def _having(self, digest: str) -> Pack:
        return next(pack for pack in self.packs if digest in pack)


def shape_in(pack_set: PackSet, digest: str) -> tuple[int, ...]:
    """The shape of an array, from the manifest alone."""
    pack = next(pack for pack in pack_set.packs if digest in pack)
    _, _, *shape = pack._manifest["arrays"][digest]
    return tuple(shape[-1] if shape and isinstance(shape[-1], list) else shape)


_PACKS: dict[str, PackSet] = {}


def pack_of(package: str) -> PackSet:
    """The files of a suite's package, which are opened once."""
    if package not in _PACKS:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise ValueError(f"there is no package {package!r} with frozen cases")
        _PACKS[package] = packs_in(Path(spec.origin).parent)
    return _PACKS[package]


def packs_in(folder: Path) -> PackSet:
    """The frozen file of a folder, and the file of its variants if there is one."""
    variants = folder / VARIANTS_PACK
    return PackSet([Pack(folder / PACK), *([Pack(variants)] if variants.exists() else [])])


def read_arrays() -> None:
    """Read the arrays of every file that has been opened: once in the zygote, and not in each of its children."""
    for pack_set in _PACKS.values():
        for pack in pack_set.packs:
            pack.arrays  # noqa: B018


@dataclass(frozen=True)
class FrozenArguments:
    """Makes the arrays of a case, from the file of its package."""

    package: str
    digests: tuple[str, ...]

    def __call__(self, inputs: Inputs) -> Sequence[Any]:
        pack = pack_of(self.package)
        return [pack.array(digest) for digest in self.digests]


@dataclass(frozen=True)
class FrozenResult:
    """Gives the expected result of a case: a reference that was worked out when the case was frozen."""

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
    """Checks the structure, shapes and dtypes of a result whose values nothing determines."""

    written: str

    def of(self, labels: Collection[str]) -> FrozenForm:
        """The form of some members of a mapping."""
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
    """Prepares a call that has to be refused: it gives the name of the error that it raised, or None.

    The result and the arguments are brought to the host, because a device may raise only where the values are asked for
    that the call made or changed. Each call has arguments of its own: a device may be unable to compute anything while
    those of a refused call exist.
    """

    prepare: Prepare

    @property
    def written(self) -> str | None:
        """The written call, where the framework's ``prepare`` is of one."""
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
    """Checks that a call was refused, with any error: the host's own is in what is said where it was not."""

    error: str

    def __call__(self, observed: Any, *arguments: Any, **options: Any) -> None:
        if observed is None:
            raise Accepted(f"the call was accepted, and the host refuses it with {self.error}")


def form(tree: Any) -> Any:
    """A host copy of a result without its values: dtype and shape of each array, the type of anything else."""
    if isinstance(tree, Leaf):
        return {"dtype": tree.dtype, "shape": list(tree.values.shape)}
    if isinstance(tree, (list, tuple)):
        return [form(member) for member in tree]
    if isinstance(tree, Mapping):
        return {str(key): form(member) for key, member in tree.items()}
    return type(tree).__name__


def frozen_functions(package: str, call: Callable[[str], Prepare]) -> list[Function]:
    """The functions of a package's frozen files; ``call`` makes the ``prepare`` of a case from its written call."""
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
    """The same functions with the cases of the quick form alone."""
    return [
        dataclasses.replace(function, cases=[case for case in function.cases if QUICK in case.tags])
        for function in functions
    ]
