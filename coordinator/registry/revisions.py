"""The content of one revision of a suite: its digest, and the differences between two contents. No I/O.

The content maps case ids to cases, without an order, because runners may list cases in any order. Pages and dispatch
use the order that was stored first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from protocol.catalogue import CatalogueSuite, short

SHOWN = 3
"""The maximum number of named differences of each kind. The others are only counted."""


class CaseContent(NamedTuple):
    """The content of a case under one revision: everything except its id and position."""

    function: str
    host_only: str | None
    tags: tuple[str, ...]
    digest: str | None


Content = Mapping[str, CaseContent]


class ChangedCase(NamedTuple):
    """A case id that has different cases in two contents."""

    id: str
    stored: CaseContent
    offered: CaseContent

    def __str__(self) -> str:
        formats: dict[str, Callable[[Any], str]] = {
            "function": short,
            "host_only": _quote,
            "tags": _join_tags,
            "digest": _quote,
        }
        changes = [
            f"{member} {form(getattr(self.stored, member))} → {form(getattr(self.offered, member))}"
            for member, form in formats.items()
            if getattr(self.stored, member) != getattr(self.offered, member)
        ]
        return f"{short(self.id)}: {', '.join(changes)}"


@dataclass(frozen=True)
class SuiteDifference:
    """The cases in which the content that a runner offers for a suite differs from the stored content.
    ``bool(difference)`` is False if there are no such cases."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[ChangedCase, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        """The differences in words: ``1 case changed (a/0: function a → b), 12 added (c/0, c/1, c/2, …)``."""
        kinds = (
            ("changed", [str(case) for case in self.changed[:SHOWN]], len(self.changed)),
            ("added", [short(case) for case in self.added[:SHOWN]], len(self.added)),
            ("removed", [short(case) for case in self.removed[:SHOWN]], len(self.removed)),
        )
        return ", ".join(
            f"{count:,} {'case' if count == 1 else 'cases'} {kind} "
            f"({('; ' if kind == 'changed' else ', ').join(examples)}{', …' if count > SHOWN else ''})"
            for kind, examples, count in kinds
            if count
        )


def content_of(suite: CatalogueSuite) -> dict[str, CaseContent]:
    return {case.id: case_content(case.function, case.host_only, case.tags, case.digest) for case in suite.cases}


def case_content(function: str, host_only: str | None, tags: Iterable[str], digest: str | None) -> CaseContent:
    return CaseContent(function, host_only, tuple(sorted(tags)), digest)


def digest(content: Content) -> str:
    """A hash of the content. It makes most comparisons cheap, because equal contents have equal hashes."""
    body = json.dumps(sorted(content.items()), separators=(",", ":"))
    return hashlib.sha256(body.encode()).hexdigest()


def difference(before: Content, after: Content) -> SuiteDifference:
    """Compare an offered content with the stored content. The result keeps the order of cases in both."""
    return SuiteDifference(
        added=tuple(case for case in after if case not in before),
        removed=tuple(case for case in before if case not in after),
        changed=tuple(
            ChangedCase(case, before[case], content)
            for case, content in after.items()
            if case in before and before[case] != content
        ),
    )


def _quote(reason: str | None) -> str:
    return "none" if reason is None else f"'{short(reason)}'"


def _join_tags(tags: tuple[str, ...]) -> str:
    return short(" ".join(tags)) or "none"
