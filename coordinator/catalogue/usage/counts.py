"""The file of counts: how often a corpus (a collection of Python files) uses each function. Uses are counted separately
by how they were recognized."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from importlib.resources import files
from operator import add
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from coordinator.catalogue.surfaces import Surface, plain_name, unpack
from coordinator.errors import CatalogueError
from protocol.model import first_fault

FORMAT: Literal[1] = 1
"""The version of the file format and of the rule by which uses are counted."""
DEFAULT = files("coordinator.catalogue") / "data" / "counts.json.gz"
"""The counts that ship with Portolan. Their corpus is packages that use the frameworks."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class UseCount(_Model):
    """The number of uses of one name."""

    resolved: NonNegativeInt = 0
    """Uses that imports and assignments resolve to this name."""
    typed: NonNegativeInt = 0
    """Uses as a member of a value with a known class."""
    guessed: NonNegativeInt = 0
    """Uses as a member of a value whose class was guessed."""
    files: NonNegativeInt = 0

    @property
    def certain(self) -> int:
        return self.resolved + self.typed

    @property
    def all(self) -> int:
        return self.certain + self.guessed

    def __add__(self, other: UseCount) -> UseCount:
        return UseCount(
            resolved=self.resolved + other.resolved,
            typed=self.typed + other.typed,
            guessed=self.guessed + other.guessed,
            files=max(self.files, other.files),
        )


class FileCounts(_Model):
    """The numbers of files of a corpus: all, duplicates, files that mention no framework, counted files, rejected
    files."""

    seen: NonNegativeInt
    duplicates: NonNegativeInt
    without_framework: NonNegativeInt
    counted: NonNegativeInt
    refused: dict[str, NonNegativeInt]
    """The number of rejected files for each reason."""
    examples: dict[str, list[str]]
    """The names of some rejected files for each reason."""


class FrameworkCounts(_Model):
    files: NonNegativeInt
    names: dict[str, UseCount]


class UsageCounts(_Model):
    """The counts of one corpus."""

    format: Literal[1]
    corpus: str
    packages: dict[str, NonNegativeInt]
    """The archives of the corpus, with the number of counted files in each."""
    files: FileCounts
    star_imports: NonNegativeInt
    """Imports of all names from a framework (``import *``). The imported names are not followed."""
    frameworks: dict[str, FrameworkCounts]
    """The counts of each framework. The keys are the first parts of its public names."""


def open_counts(path: Path | None) -> UsageCounts:
    """Read counts from a file. If ``path`` is None, read the counts that ship with Portolan."""
    name = "the counts that ship with Portolan" if path is None else str(path)
    try:
        content = DEFAULT.read_bytes() if path is None else path.read_bytes()
        return UsageCounts.model_validate_json(unpack(content))
    except ValidationError as error:
        raise CatalogueError(
            f"{name} is not a file of usage counts ({first_fault(error)}); create one with "
            "`portolan catalogue count CORPUS`"
        ) from error
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise CatalogueError(f"{name}: {reason}; name a file that `portolan catalogue count CORPUS` wrote") from error


@dataclass(frozen=True)
class ResolvedCounts:
    """The uses of one release's functions, each under its canonical name."""

    by_name: Mapping[str, Mapping[str, UseCount]]
    """The uses of each object, for each name under which it was used."""
    unresolved: Mapping[str, UseCount] = field(default_factory=dict)
    """Uses of names that this release does not have, and of names of modules or values."""

    @cached_property
    def uses(self) -> Mapping[str, UseCount]:
        """The uses of each object, summed over its names."""
        return {name: reduce(add, by_name.values()) for name, by_name in self.by_name.items()}


def resolve_counts(counts: UsageCounts, surface: Surface, root: str) -> ResolvedCounts:
    """Assign the uses of every counted name to the name's entry in a release. Does no I/O."""
    by_name: dict[str, dict[str, UseCount]] = {}
    unresolved_counts: dict[str, UseCount] = {}
    framework = counts.frameworks.get(root)
    for name, count in sorted(framework.names.items()) if framework is not None else ():
        entry = surface.resolve(name)
        if entry is None:
            unresolved_counts[name] = count
            continue
        uses, written_name = by_name.setdefault(entry.name, {}), plain_name(name)
        # A name in a module that only repeats names is not counted as another name of the object.
        uses[written_name] = uses[written_name] + count if written_name in uses else count
    return ResolvedCounts(by_name, unresolved_counts)


@dataclass
class Tally:
    """The counts of a file, of a batch of files, or of a corpus up to the current position."""

    resolved: Counter[str] = field(default_factory=Counter)
    typed: Counter[str] = field(default_factory=Counter)
    guessed: Counter[str] = field(default_factory=Counter)
    in_files: Counter[str] = field(default_factory=Counter)
    framework_files: Counter[str] = field(default_factory=Counter)
    packages: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def refuse(self, reason: str, name: str) -> None:
        self.refused[reason] += 1
        self.remember(reason, [name])

    def remember(self, reason: str, names: Iterable[str]) -> None:
        examples = self.examples.setdefault(reason, [])
        examples.extend(list(names)[: EXAMPLES - len(examples)])

    def add(self, other: Tally) -> None:
        for name, counter in vars(other).items():
            if isinstance(counter, Counter):
                getattr(self, name).update(counter)
        for reason, names in other.examples.items():
            self.remember(reason, names)

    def counts(self, corpus: str) -> UsageCounts:
        names: dict[str, dict[str, UseCount]] = {root: {} for root in self.framework_files}
        for name in sorted({*self.resolved, *self.typed, *self.guessed}):
            root = name.partition(".")[0]
            names.setdefault(root, {})[name] = UseCount(
                resolved=self.resolved[name],
                typed=self.typed[name],
                guessed=self.guessed[name],
                files=self.in_files[name],
            )
        return UsageCounts(
            format=FORMAT,
            corpus=corpus,
            packages=dict(sorted(self.packages.items())),
            files=FileCounts(
                seen=self.files["seen"],
                duplicates=self.files["duplicates"],
                without_framework=self.files["without_framework"],
                counted=self.files["counted"],
                refused=dict(sorted(self.refused.items())),
                examples=dict(sorted(self.examples.items())),
            ),
            star_imports=self.files["star_imports"],
            frameworks={
                root: FrameworkCounts(files=self.framework_files[root], names=counts)
                for root, counts in sorted(names.items())
            },
        )


EXAMPLES = 5
"""The maximum number of names of rejected files that are stored for each reason."""
