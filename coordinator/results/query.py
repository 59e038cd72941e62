"""The query language of the matrix: ``torch.* fails:xla passes:cpu cause:type``. It does no I/O.

A query consists of terms separated by spaces. A function matches if every term without a minus matches and no term
with a minus matches. A term without a colon is a name: a glob if it has ``*`` or ``?``, otherwise a part of the
function's name. The other terms begin with a key and a colon. A name follows ``function:`` and ``module:``. A word
follows ``cause:`` and ``verdict:``, with or without a target before it (``cause:type``, ``cause:xla=type``). After
the other keys comes a target, which may be empty (``fails:xla``, ``slower:xla>10``, ``flaky:``).

A target is a device (``xla``) or a selector (``torch@2.9/xla``). A term with a target matches if its condition holds on
at least one of the targets that it selects. Without a target, any target can match.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from coordinator.errors import QueryError, UnknownNameError
from coordinator.targets.selectors import NumberedTarget, Selector, target_name
from protocol.enums import Cause

MOST_WORDS = 50
VERDICTS = ("success", "partial", "complete", "unknown")

EXAMPLES = (
    ("torch.nn.*", "all functions of torch.nn"),
    ("fails:xla passes:cpu", "functions that fail on xla and pass on the CPU"),
    ("relu -torch.nn.*", "functions with relu in their name, except those of torch.nn"),
    ("module:torch.linalg", "the functions of one module"),
    ("function:torch.add", "one function"),
    ("partial:torch@2.9/xla", "functions of which some cases fail and some pass"),
    ("falls-back:cuda", "functions that silently ran on the host"),
    ("accepts:xla", "functions that return a result where the host raises an error"),
    ("unproven:cuda", "functions that passed without proof that they ran on the device"),
    ("cause:type", "functions whose main cause is type, on any target"),
    ("cause:xla=not_implemented", "functions whose main cause on xla is not_implemented"),
    ("not-lowered:tpu-lowered", "functions without a lowering"),
    ("verdict:cuda=unknown", "functions without a counted case"),
    ("flaky:", "functions with a case whose runs disagree"),
    ("slower:xla>10", "functions whose call after warm-up takes over 10 times as long as on the CPU"),
)


CountedColumn = Literal["flaky", "fell_back", "accepted", "unknown_placement", "not_lowered"]


@dataclass(frozen=True)
class NameTerm:
    """A term that matches the name of the function or of its module, as a glob or as a part of the name."""

    glob: str
    of: Literal["bare", "function", "module"] = "bare"
    excluded: bool = False


@dataclass(frozen=True)
class VerdictTerm:
    """A term that matches if the function has one of these verdicts on the target."""

    target: Selector | None
    words: tuple[str, ...]
    excluded: bool = False


@dataclass(frozen=True)
class CauseTerm:
    target: Selector | None
    word: str
    excluded: bool = False


@dataclass(frozen=True)
class CountTerm:
    """A term that matches if at least one case of this kind is on a target."""

    target: Selector | None
    column: CountedColumn
    excluded: bool = False


@dataclass(frozen=True)
class RatioTerm:
    """A term that matches if the ratio to the CPU on a target is above (or below) a number."""

    target: Selector | None
    than: float
    over: bool = True
    excluded: bool = False


OnTarget = VerdictTerm | CauseTerm | CountTerm | RatioTerm
Term = NameTerm | OnTarget
Query = tuple[Term, ...]

_VERDICT_KEYS = {
    "fails": ("partial", "complete"),
    "passes": ("success",),
    "partial": ("partial",),
    "complete": ("complete",),
    "unknown": ("unknown",),
}
_COUNTED_KEYS: dict[str, CountedColumn] = {
    "falls-back": "fell_back",
    "accepts": "accepted",
    "unproven": "unknown_placement",
    "flaky": "flaky",
    "not-lowered": "not_lowered",
}
KEYS = (*_VERDICT_KEYS, *_COUNTED_KEYS, "cause", "verdict", "slower", "function", "module")


def parse(text: str) -> Query:
    """Parse the text of a query. Raises ``QueryError`` with the position of the mistake."""
    words = list(re.finditer(r"\S+", text))
    if len(words) > MOST_WORDS:
        raise QueryError(
            f"this query has {len(words)} words, and the limit is {MOST_WORDS}: use fewer", words[MOST_WORDS].start()
        )
    return tuple(_term(word.group(), word.start()) for word in words)


def check_targets(query: Query, targets: Sequence[NumberedTarget], text: str = "") -> None:
    """Raise ``QueryError`` for a word that names none of these targets."""
    for term, word in zip(query, re.finditer(r"\S+", text), strict=False):
        if not isinstance(term, NameTerm) and term.target is not None and not matching_ids(term, targets):
            there = ", ".join(map(target_name, targets)) or "none"
            raise QueryError(f"{word.group()} names no target of this campaign; name one of: {there}", word.start())


def matching_ids(term: OnTarget, targets: Sequence[NumberedTarget]) -> list[int]:
    """Return the ids of the targets that a term names."""
    return [target.id for target in targets if term.target is None or term.target.matches(target)]


def _term(word: str, at: int) -> Term:
    is_excluded = word.startswith("-")
    body = word[1:] if is_excluded else word
    if not body:
        raise QueryError("a minus needs a word after it: write one, such as -torch.nn.*", at)
    key, colon, value = body.partition(":")
    if not colon:
        return NameTerm(body, excluded=is_excluded)
    at += len(word) - len(value)
    if key == "module":
        if not value:
            raise QueryError("module: needs a name, such as module:torch.nn or module:torch.*", at)
        return NameTerm(value, "module", is_excluded)
    if key == "function":
        if not value:
            raise QueryError("function: needs a name, such as function:torch.add or function:torch.nn.*", at)
        return NameTerm(value, "function", is_excluded)
    if key in _VERDICT_KEYS:
        return VerdictTerm(_target(value, at), _VERDICT_KEYS[key], is_excluded)
    if key in _COUNTED_KEYS:
        return CountTerm(_target(value, at), _COUNTED_KEYS[key], is_excluded)
    if key in _WITH_VALUE:
        return _WITH_VALUE[key](value, at, is_excluded)
    raise QueryError(f"the query language has no word '{key}:'{_close(key, KEYS)}", at - len(key) - 1)


def _cause(text: str, at: int, is_excluded: bool) -> Term:
    target, word = _parse_assignment(text, at, [str(cause) for cause in Cause], "cause")
    return CauseTerm(target, word, is_excluded)


def _verdict(text: str, at: int, is_excluded: bool) -> Term:
    target, word = _parse_assignment(text, at, VERDICTS, "verdict")
    return VerdictTerm(target, (word,), is_excluded)


def _slower(text: str, at: int, is_excluded: bool) -> Term:
    match = re.fullmatch(r"([^<>]*)([<>])([^<>]+)", text)
    try:
        than = float(match[3]) if match else math.nan
    except ValueError:
        than = math.nan
    if match is None or not (math.isfinite(than) and than > 0):
        raise QueryError("slower: needs a number over 0, such as slower:xla>10 or slower:xla<1", at)
    return RatioTerm(_target(match[1], at), than, match[2] == ">", is_excluded)


_WITH_VALUE: dict[str, Callable[[str, int, bool], Term]] = {"cause": _cause, "verdict": _verdict, "slower": _slower}


def _parse_assignment(text: str, at: int, choices: Sequence[str], what: str) -> tuple[Selector | None, str]:
    """Parse ``WORD`` or ``TARGET=WORD``."""
    target, equals, word = text.rpartition("=")
    if word not in choices:
        raise QueryError(
            f"there is no {what} '{word}'{_close(word, choices)}; choose one of: {', '.join(choices)}",
            at + len(text) - len(word),
        )
    return (_target(target, at) if equals else None), word


def _target(text: str, at: int) -> Selector | None:
    if not text:
        return None
    try:
        return Selector.parse(text if "/" in text else f"*/{text}")
    except UnknownNameError as error:
        raise QueryError(
            f"'{text}' names no target: write a device such as xla, or framework/device such as torch@2.9/xla", at
        ) from error


def _close(word: str, choices: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, choices, n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def like_pattern(glob: str) -> str:
    """Return the LIKE pattern of SQL that matches the same names as a glob."""
    literal = glob.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return literal.replace("*", "%").replace("?", "_")
