"""Why an outcome did not pass: ordered rules over its stored evidence, the first match wins.

The rules stand in ``causes.toml``, beside this file. Here they are read, checked, compiled
once and applied; nothing here looks at anything but the outcome and its target, so that a
better rule can be applied to old outcomes without running them again.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from protocol.outcomes import Evidence, Outcome
from protocol.words import Cause, Ending, Verdict


@dataclass(frozen=True)
class Classification:
    """What an outcome counts as. ``cause`` and ``rule`` are None if it passed."""

    verdict: Verdict
    cause: Cause | None
    rule: str | None


class RulesError(ValueError):
    """The file of rules cannot be used; the message names the rule and what to change."""


_VERDICTS: Mapping[Cause, Verdict] = {
    Cause.environment: Verdict.incomplete,
    Cause.infrastructure: Verdict.incomplete,
    Cause.cancelled: Verdict.incomplete,
    Cause.removed: Verdict.skipped,
    Cause.not_applicable: Verdict.skipped,
}


def verdict_of(cause: Cause) -> Verdict:
    """What an outcome of that cause counts as."""
    return _VERDICTS.get(cause, Verdict.failed)


_PASSED = Classification(Verdict.passed, None, None)
_NO_EVIDENCE = Evidence()
_CPP_STACK = re.compile(r"Exception raised from |\nframe #0: |\*\*\* Begin stack trace")
"""Where a message turns into C++ symbols, whose names would mislead the patterns."""
_GRAPH_NODE = re.compile(r"\{\{function_node [^{}]*\}\} ?")
"""TensorFlow's name for the wrapper of an eager operation; it holds a device's name."""
_PYTHON_STACK = re.compile(
    r"in user code:\n|[^\n]*(op is created at|Stack trace for op definition): *\n"
    r'|\n*[ \t]*File "[^"\n]+", line \d+, in [^\n]*(\n {8}(?! )[^\n]*)?'
)
"""Lines of source that TensorFlow quotes in a message: whoever wrote them chose their words."""
_DISPATCH_TABLE = " is only available for these backends:"
"""Where torch begins to list every kernel it has; those names would mislead as well."""
_HEAD, _TAIL = 1_500, 500
"""Characters of a long message that are looked at: the reason comes first, or last (after a traceback)."""
_LAST_WORDS = 2_000
"""Characters of the log's end that are looked at."""

_Words = frozenset[str]
_Patterns = tuple[re.Pattern[str], ...]
_Word = TypeVar("_Word", bound=StrEnum)


@dataclass(frozen=True)
class Rule:
    """One rule. An empty condition asks nothing; all others must hold."""

    id: str
    cause: Cause
    says: str
    ending: _Words = frozenset()
    signal: _Words = frozenset()
    stage: _Words = frozenset()
    device: _Words = frozenset()
    framework: _Words = frozenset()
    exception: _Patterns = ()
    message: _Patterns = ()
    frames: _Patterns = ()
    mismatch: _Patterns = ()
    log: _Patterns = ()
    right_at: bool = False

    @property
    def classification(self) -> Classification:
        return Classification(verdict_of(self.cause), self.cause, self.id)

    @property
    def catches_all(self) -> bool:
        return all(not getattr(self, each.name) for each in fields(self) if each.name not in _NAMING)

    def matches(self, seen: _Seen) -> bool:
        evidence = seen.evidence
        return (
            _is_one(self.ending, seen.ending)
            and _is_one(self.device, seen.device)
            and _is_one(self.framework, seen.framework)
            and _is_one(self.signal, evidence.signal)
            and _is_one(self.stage, evidence.stage)
            and (not self.right_at or evidence.right_at is not None)
            and (not self.exception or any(each.fullmatch(evidence.exception or "") for each in self.exception))
            and _is_found(self.message, (seen.message,))
            and _is_found(self.mismatch, (evidence.mismatch or "",))
            and _is_found(self.frames, evidence.frames)
            and _is_found(self.log, (seen.log,))
        )


@dataclass(frozen=True)
class _Seen:
    """What a rule looks at."""

    ending: str
    evidence: Evidence
    message: str
    log: str
    framework: str
    device: str


_NAMING = ("id", "cause", "says")
_WORDS = ("ending", "signal", "stage", "device", "framework")
_PATTERNS = ("exception", "message", "frames", "mismatch", "log")
_KEYS = frozenset((*_NAMING, *_WORDS, *_PATTERNS, "right_at"))


def load(text: str) -> tuple[Rule, ...]:
    """Read and check a file of rules. Raises ``RulesError`` at the first thing that is wrong."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RulesError(f"the rules are not valid TOML: {error}") from error
    tables = document.get("rule")
    if set(document) != {"rule"} or not isinstance(tables, list):
        raise RulesError("the file holds something else than [[rule]] tables; write each rule as one")
    rules = tuple(_rule(table, number) for number, table in enumerate(tables, 1))
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise RulesError(f"rule {rule.id!r} is there twice; give each rule an id of its own")
        seen.add(rule.id)
    for rule in rules[:-1]:
        if rule.catches_all:
            raise RulesError(f"rule {rule.id!r} states no condition, so no later rule is reached; give it one")
    if not rules or not rules[-1].catches_all or rules[-1].cause is not Cause.unknown:
        raise RulesError("the last rule must catch everything: cause 'unknown' and no condition")
    return rules


def _rule(table: Any, number: int) -> Rule:
    if not isinstance(table, dict) or not isinstance(table.get("id"), str) or not table["id"]:
        raise RulesError(f"rule number {number} has no id; give it one")
    name = table["id"]
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise RulesError(
            f"rule {name!r}: unknown key {', '.join(map(repr, unknown))}; known are {', '.join(sorted(_KEYS))}"
        )
    if not isinstance(table.get("says"), str) or not table["says"]:
        raise RulesError(f"rule {name!r}: 'says' is missing; write the sentence that people read")
    right_at = table.get("right_at", False)
    if "right_at" in table and right_at is not True:
        raise RulesError(f"rule {name!r}: right_at can only be true; leave it out otherwise")
    values = {key: _texts(name, key, table[key]) for key in (*_WORDS, *_PATTERNS) if key in table}
    for ending in values.get("ending", ()):
        _member(name, "ending", ending, Ending)
    conditions: dict[str, Any] = {key: frozenset(values[key]) for key in _WORDS if key in values}
    conditions |= {key: _compiled(name, key, values[key]) for key in _PATTERNS if key in values}
    cause = _member(name, "cause", table.get("cause"), Cause)
    return Rule(id=name, cause=cause, says=table["says"], right_at=right_at, **conditions)


def _texts(rule: str, key: str, value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(each, str) and each for each in texts):
        raise RulesError(f"rule {rule!r}: {key} must be a text or a list of texts, none of them empty")
    return texts


def _member(rule: str, key: str, value: Any, words: type[_Word]) -> _Word:
    try:
        return words(value)
    except ValueError:
        raise RulesError(f"rule {rule!r}: {key} {value!r} is none of {', '.join(words)}") from None


def _compiled(rule: str, key: str, values: Iterable[str]) -> _Patterns:
    patterns = []
    for value in values:
        try:
            patterns.append(re.compile(value))
        except re.error as error:
            raise RulesError(f"rule {rule!r}: {key} {value!r} is no regular expression: {error}") from error
    return tuple(patterns)


def _is_one(words: _Words, value: str | None) -> bool:
    return not words or value in words


def _is_found(patterns: _Patterns, texts: Iterable[str]) -> bool:
    return not patterns or any(pattern.search(text) for text in texts for pattern in patterns)


RulesByEnding = Mapping[Ending, Sequence[tuple[Rule, Classification]]]


def by_ending(rules: Sequence[Rule]) -> RulesByEnding:
    """For each ending the rules that can match it, in order, each with what it says."""
    return {
        ending: [(rule, rule.classification) for rule in rules if _is_one(rule.ending, ending)] for ending in Ending
    }


_FILE = Path(__file__).with_name("causes.toml").read_bytes()
RULES = load(_FILE.decode())
RULES_REVISION = hashlib.sha256(_FILE).hexdigest()[:12]
"""Changes with every change of the rules: says which outcomes are worth classifying anew."""

_BY_ID = {rule.id: rule for rule in RULES}
_CURRENT = by_ending(RULES)


def classify(outcome: Outcome, *, framework: str, device: str, rules: RulesByEnding = _CURRENT) -> Classification:
    """Verdict, cause and rule of an outcome. What the runner calls the verdict does not count."""
    if outcome.ending is Ending.returned:
        return _PASSED
    evidence = outcome.evidence or _NO_EVIDENCE
    seen = _Seen(
        ending=outcome.ending,
        evidence=evidence,
        message=readable(evidence.message or ""),
        log=outcome.log_tail[-_LAST_WORDS:],
        framework=framework,
        device=device,
    )
    return next(named for rule, named in rules[outcome.ending] if rule.matches(seen))


def describe(rule_id: str) -> str | None:
    """The sentence that a rule says of a failure; None if the file has no such rule (any more)."""
    rule = _BY_ID.get(rule_id)
    return rule.says if rule else None


def readable(message: str) -> str:
    """What a person would read of a message: no stacks, no table of kernels, beginning and end if long."""
    stack = _CPP_STACK.search(message)
    words = (message[: stack.start()] if stack else message).partition(_DISPATCH_TABLE)[0]
    if "{{function_node" in words:
        words = _GRAPH_NODE.sub("", words)
    if 'File "' in words:
        words = _PYTHON_STACK.sub("", words).lstrip()
    return words if len(words) <= _HEAD + _TAIL else f"{words[:_HEAD]}\n{words[-_TAIL:]}"
