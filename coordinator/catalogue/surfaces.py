"""Surfaces: files that list the public functions and classes of framework releases. Some surfaces ship with
Portolan."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import ValidationError

from coordinator.errors import CatalogueError
from protocol.model import first_fault
from protocol.surface import SurfaceEntry, SurfaceHeader

ROOTS: Mapping[str, str] = {"torch": "torch", "tensorflow": "tf", "jax": "jax"}
"""For each framework, the first part of its public names."""
ARRAYS: Mapping[str, str] = {"torch": "torch.Tensor", "tf": "tf.Tensor", "jax": "jax.Array"}
"""For each first part of public names, the framework's array class."""
ECHOES: Mapping[str, str] = {"tf.compat.v2.": "tf."}
"""The prefixes of modules that surfaces omit, because they only repeat the names of other modules, with the prefixes of
these other modules."""
SHIPPED = files("coordinator.catalogue") / "data" / "surfaces"
SUFFIX = ".ndjson.gz"
MOST_BYTES = 256_000_000
"""The maximum size of an unpacked surface in bytes. The largest known surface has 12 MB."""
_ARRAY_CLASS = re.compile(
    r"torch\.(cuda\.)?(sparse\.)?(BFloat16|Bool|Byte|Char|Double|Float|Half|Int|Long|Short)?Tensor|tf\.Tensor|jax\.Array"
)
"""Matches the array classes of the frameworks, including those of torch for one dtype: ``torch.LongTensor``,
``torch.cuda.FloatTensor``."""
CHARTABLE = frozenset({"function", "class", "method", "classmethod", "staticmethod", "property"})
"""The kinds of entries that a program can call or read on a device. The kind of exceptions is left out."""


@dataclass(frozen=True)
class Surface:
    """The public surface of one release."""

    header: SurfaceHeader
    entries: tuple[SurfaceEntry, ...]

    @property
    def release(self) -> str:
        return f"{self.header.framework}@{self.header.version}"

    @cached_property
    def by_name(self) -> Mapping[str, SurfaceEntry]:
        """The entries by name. An entry with several names is under each of its names."""
        by_alias = {alias: entry for entry in self.entries for alias in entry.aliases}
        return by_alias | {entry.name: entry for entry in self.entries}

    def resolve(self, name: str) -> SurfaceEntry | None:
        """The entry with this name; None if there is none. The name of a member may begin with any name of its class,
        also if the class inherits the member from a public class."""
        name = plain_name(name)
        if name in self.by_name:
            return self.by_name[name]
        owner, _, member = name.rpartition(".")
        owner_entry = self.by_name.get(owner)
        for base in (owner_entry.name, *owner_entry.bases) if owner_entry is not None else ():
            if f"{base}.{member}" in self.by_name:
                return self.by_name[f"{base}.{member}"]
        return None

    def count(self, kinds: frozenset[str]) -> int:
        return sum(entry.kind in kinds for entry in self.entries)


def plain_name(name: str) -> str:
    """The name without module parts that only repeat the name of another module."""
    for prefix, replacement in ECHOES.items():
        if name.startswith(prefix):
            return replacement + name.removeprefix(prefix)
    return name


def is_array_class(name: str) -> bool:
    """Whether a name is an array class. Programs name these classes in annotations far more often than they call
    them."""
    return _ARRAY_CLASS.fullmatch(name) is not None


def shipped_releases() -> list[str]:
    """The releases whose surfaces ship with Portolan, such as ``torch@2.9.0``."""
    if not SHIPPED.is_dir():
        return []
    names = (file.name for file in SHIPPED.iterdir() if file.name.endswith(SUFFIX))
    return sorted(name.removesuffix(SUFFIX).replace("-", "@", 1) for name in names)


@cache
def shipped_surface(release: str) -> Surface:
    """The surface of a release that ships with Portolan. Each surface is read only once."""
    return read_shipped_surface(release)


def read_shipped_surface(release: str) -> Surface:
    """Read the surface that ships with Portolan for a release, without caching it."""
    return read_surface(_shipped_file(release).read_bytes(), release)


def _shipped_file(release: str) -> Traversable:
    return SHIPPED / f"{release.replace('@', '-', 1)}{SUFFIX}"


def shipped_entries(release: str) -> Iterator[SurfaceEntry]:
    """The entries of a surface that ships with Portolan. They are decoded one by one, because a whole surface takes
    15 MB."""
    with _shipped_file(release).open("rb") as file, gzip.open(file) as lines:
        next(lines)  # the header
        yield from map(SurfaceEntry.model_validate_json, lines)


def open_surface(name_or_path: str) -> Surface:
    """Read a surface: the surface that ships with Portolan for this release, or the surface in this file."""
    if name_or_path in shipped_releases():
        return shipped_surface(name_or_path)
    try:
        content = Path(name_or_path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        release_names = ", ".join(shipped_releases()) or "none"
        raise CatalogueError(
            f"{name_or_path}: {reason.lower()}; name a file that `portolan catalogue enumerate` wrote, or one of "
            f"{release_names}"
        ) from error
    return read_surface(content, name_or_path)


def read_surface(content: bytes, name: str) -> Surface:
    try:
        lines = unpack(content).decode().splitlines()
        header, *entries = lines
        surface = Surface(
            SurfaceHeader.model_validate_json(header), tuple(map(SurfaceEntry.model_validate_json, entries))
        )
    except ValidationError as error:
        raise CatalogueError(
            f"{name} is not a surface file: {first_fault(error)}; create one with `{_COMMAND}`"
        ) from error
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise CatalogueError(f"{name} is not a surface file; create one with `{_COMMAND}`") from error
    if len(surface.entries) != surface.header.entries:
        raise CatalogueError(
            f"{name} is incomplete: it has {len(surface.entries)} of {surface.header.entries} entries; "
            f"copy it again, or create it with `{_COMMAND}`"
        )
    return surface


_COMMAND = "portolan catalogue enumerate FRAMEWORK --out FILE"


def unpack(content: bytes) -> bytes:
    """The content, decompressed if it is compressed. Raises ``ValueError`` if it is larger than any surface or not
    complete."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    decompressor = zlib.decompressobj(wbits=31)
    plain = decompressor.decompress(content, MOST_BYTES)
    if decompressor.unconsumed_tail or not decompressor.eof:
        raise ValueError("too large, or cut off")
    return plain


def array_methods() -> dict[str, frozenset[str]]:
    """The names of all methods of each framework's array class, in any release that ships with Portolan."""
    methods: dict[str, set[str]] = {}
    for release in shipped_releases():
        surface = open_surface(release)
        owner = ARRAYS[ROOTS[surface.header.framework]]
        names = {name for entry in surface.entries for name in (entry.name, *entry.aliases)}
        root = owner.partition(".")[0]
        methods.setdefault(root, set()).update(
            name.rpartition(".")[2] for name in names if name.rpartition(".")[0] == owner
        )
    return {root: frozenset(names) for root, names in methods.items()}


@dataclass(frozen=True)
class Move:
    """An object whose module or name changed between two releases."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class SurfaceComparison:
    """The differences between the public names of two releases of a framework, ``a`` and ``b``."""

    a: str
    b: str
    added: Sequence[str]
    removed: Sequence[str]
    moved: Sequence[Move]
    """Names in both releases whose canonical name or module changed."""
    deprecated: Sequence[str]
    """Names in both releases that are deprecated only in ``b``."""


def compare_surfaces(a: Surface, b: Surface) -> SurfaceComparison:
    """Determine the names that were added, removed, moved or deprecated between two releases. Does no I/O."""
    if a.header.framework != b.header.framework:
        raise CatalogueError(
            f"{a.release} and {b.release} are releases of two frameworks: compare releases of one framework"
        )
    both = [(entry, after) for entry in a.entries if (after := b.by_name.get(entry.name)) is not None]
    moves = [
        Move(before.name, before.module, after.module)
        if before.name == after.name
        else Move(before.name, before.name, after.name)
        for before, after in both
        if (before.name, before.module) != (after.name, after.module)
    ]
    return SurfaceComparison(
        a=a.release,
        b=b.release,
        added=[entry.name for entry in b.entries if not _is_in(entry, a)],
        removed=[entry.name for entry in a.entries if entry.name not in b.by_name],
        moved=moves,
        deprecated=[before.name for before, after in both if after.deprecated and not before.deprecated],
    )


def _is_in(entry: SurfaceEntry, surface: Surface) -> bool:
    return any(name in surface.by_name for name in (entry.name, *entry.aliases))
