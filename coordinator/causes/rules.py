"""Decides the cause of an outcome that did not pass: ordered rules are applied to the outcome's stored evidence, and
the first rule that matches decides.

The rules are in ``rules.toml``, next to this file. Rules about words that only one vendor's libraries print are in
``vendors``, one file per vendor, and apply only to this vendor's devices. This module reads, checks and applies the
rules, which are compiled when a failure is first classified. A rule sees only the outcome and its target, so that
improved rules can be applied to old outcomes without running the cases again.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from coordinator.causes.patterns import Eraser, PatternSet, require_linear
from coordinator.errors import PatternError, RulesError
from protocol.enums import LOWERED, Cause, Ending, Kernels, Repetition, Verdict, is_lowered
from protocol.outcomes import Evidence, Outcome


@dataclass(frozen=True)
class Classification:
    """A verdict with its cause and the rule that decided it. Cause and rule are None if the outcome passed."""

    verdict: Verdict
    cause: Cause | None
    rule: str | None


_VERDICTS: Mapping[Cause, Verdict] = {
    Cause.environment: Verdict.incomplete,
    Cause.infrastructure: Verdict.incomplete,
    Cause.cancelled: Verdict.incomplete,
    Cause.removed: Verdict.skipped,
    Cause.not_applicable: Verdict.skipped,
    Cause.not_this_device: Verdict.skipped,
    Cause.lowered: Verdict.skipped,
    Cause.not_lowered: Verdict.skipped,
}


def verdict_of(cause: Cause) -> Verdict:
    """Return the verdict of an outcome with this cause."""
    return _VERDICTS.get(cause, Verdict.failed)


_PASSED = Classification(Verdict.passed, None, None)
_NO_EVIDENCE = Evidence()
_CPP_STACK = ("Exception raised from ", "\nframe #0: ", "*** Begin stack trace")
"""Texts after which a message contains C++ symbols. The patterns must not search the names of these symbols."""
_GRAPH_NODE = Eraser(r"\{\{function_node [^{}]*\}\} ?")
"""TensorFlow's name for the wrapper of an eager operation. It contains a device name."""
_PYTHON_STACK = Eraser(
    r"in user code:\n|[^\n]*(?:op is created at|Stack trace for op definition): *\n"
    r'|\n*[ \t]*File "[^"\n]+", line \d+, in [^\n]*(?:\n {8}(?:[^ \n][^\n]*|(?m:$)))?'
)
"""Source lines of users that TensorFlow quotes in messages. Their words must not match rules."""
_DISPATCH_TABLE = " is only available for these backends:"
"""The text before torch's list of all its kernels. The patterns must not search the names of the kernels."""
_UNCUT_HEAD, _UNCUT_TAIL = 32_768, 4_096
"""The numbers of characters at the beginning and at the end of a message that are cleaned before the search. Messages
of Portolan's runners are shorter."""
_HEAD, _TAIL = 1_500, 500
"""The numbers of characters at the beginning and end of a long message that are searched. The reason of a failure is at
the beginning of a message or, if there is a traceback, at the end."""
EVERY_LOWERED = f"*{LOWERED}"
"""The device name in a rule that is for all devices that only lower programs and do not run them."""
LOG_TAIL = 2_000
"""The number of characters at the end of the log that are searched."""

_Words = frozenset[str]
_Word = TypeVar("_Word", bound=StrEnum)


@dataclass(frozen=True)
class Rule:
    """One rule. It matches if all of its non-empty conditions hold."""

    id: str
    cause: Cause
    says: str
    ending: _Words = frozenset()
    signal: _Words = frozenset()
    stage: _Words = frozenset()
    device: _Words = frozenset()
    framework: _Words = frozenset()
    exception: _Words = frozenset()
    message: _Words = frozenset()
    frames: _Words = frozenset()
    mismatch: _Words = frozenset()
    log: _Words = frozenset()
    operation: _Words = frozenset()
    dtypes: _Words = frozenset()
    kernels: _Words = frozenset()
    on_host: _Words = frozenset()
    in_graph: _Words = frozenset()
    in_float32: _Words = frozenset()
    right_at: bool = False

    @property
    def classification(self) -> Classification:
        return Classification(verdict_of(self.cause), self.cause, self.id)

    @property
    def catches_all(self) -> bool:
        return all(not getattr(self, condition.name) for condition in fields(self) if condition.name not in _NAMING)

    def matches(self, failure: _Evidence) -> bool:
        evidence = failure.evidence
        return (
            _is_one(self.ending, failure.ending)
            and (not self.device or not self.device.isdisjoint(failure.device))
            and _is_one(self.framework, failure.framework)
            and _is_one(self.signal, evidence.signal)
            and _is_one(self.stage, evidence.stage)
            and _is_one(self.kernels, evidence.kernels)
            and _is_one(self.on_host, evidence.on_host)
            and _is_one(self.in_graph, evidence.in_graph)
            and _is_one(self.in_float32, evidence.in_float32)
            and (not self.right_at or evidence.right_at is not None)
            and all(_is_found(getattr(self, field), failure, field) for field in _PATTERNS)
        )


_NAMING = ("id", "cause", "says")
_ENUMERATED: Mapping[str, type[StrEnum]] = {
    "ending": Ending,
    "kernels": Kernels,
    "on_host": Repetition,
    "in_graph": Repetition,
    "in_float32": Repetition,
}
_WORDS = (*_ENUMERATED, "signal", "stage", "device", "framework")
_WHOLE = frozenset({"exception", "operation", "dtypes"})
"""Fields that contain names. A pattern for such a field must match the whole name."""
_PATTERNS = ("message", "frames", "mismatch", "log", *sorted(_WHOLE))
_KEYS = frozenset((*_NAMING, *_WORDS, *_PATTERNS, "right_at"))
_VENDORS_PLACE = {"vendors": True}
"""The entry in the file of rules at which the rules of all vendors are inserted."""
_VENDOR_PATTERNS = ("message", "log")
_VENDOR_KEYS = frozenset((*_NAMING, *_VENDOR_PATTERNS))
_VENDOR_CAUSES = frozenset(
    cause for cause in Cause if verdict_of(cause) is Verdict.failed and cause is not Cause.unknown
) | {Cause.environment}
"""The causes that a vendor's rules may give. Except for broken machines, a vendor's file must not remove failures from
the rates."""


def load(text: str, vendors: Mapping[str, str] = MappingProxyType({})) -> tuple[Rule, ...]:
    """Read and check a file of rules, and the files of vendors (by vendor name). Raises ``RulesError`` at the first
    mistake."""
    tables = _tables(text, {"rule"})["rule"]
    of_vendors = [rule for name in sorted(vendors) for rule in _vendor_rules(name, vendors[name])]
    rules = tuple(
        rule
        for number, table in enumerate(tables, 1)
        for rule in (of_vendors if table == _VENDORS_PLACE else [_rule(table, number)])
    )
    if of_vendors and tables.count(_VENDORS_PLACE) != 1:
        raise RulesError(
            "the file of rules must have exactly one [[rule]] with vendors = true: add it where the rules of vendors "
            "are to be inserted"
        )
    rule_ids: set[str] = set()
    for rule in rules:
        if rule.id in rule_ids:
            raise RulesError(f"rule {rule.id!r} appears twice; give each rule its own id")
        rule_ids.add(rule.id)
    for rule in rules[:-1]:
        if rule.catches_all:
            raise RulesError(f"rule {rule.id!r} has no condition, so later rules are never reached; add a condition")
    if not rules or not rules[-1].catches_all or rules[-1].cause is not Cause.unknown:
        raise RulesError("the last rule must match every outcome: give it cause = 'unknown' and no condition")
    return rules


def _tables(text: str, keys: Set[str]) -> dict[str, Any]:
    """Parse the document. It must consist of exactly the keys ``keys`` and of [[rule]] tables."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RulesError(f"the rules are not valid TOML ({error}): correct the file") from error
    if set(document) != keys or not isinstance(document["rule"], list):
        others = "".join(f"{key} and " for key in sorted(keys - {"rule"}))
        raise RulesError(f"the file must consist of {others}[[rule]] tables; write each rule as a [[rule]] table")
    return document


def _vendor_rules(vendor: str, text: str) -> list[Rule]:
    """Return the rules of a vendor's file. They apply only to the devices that the file names."""
    try:
        document = _tables(text, {"devices", "rule"})
        devices = frozenset(_texts("the file", "devices", document["devices"]))
        return [_vendor_rule(vendor, devices, table, number) for number, table in enumerate(document["rule"], 1)]
    except RulesError as error:
        raise RulesError(f"{vendor}.toml: {error}") from error


def _vendor_rule(vendor: str, devices: _Words, table: Any, number: int) -> Rule:
    rule = _rule(table, number)
    if not rule.id.startswith(f"{vendor}-"):
        raise RulesError(f"rule {rule.id!r}: the id must begin with '{vendor}-'; rename the rule")
    beyond = sorted(set(table) - _VENDOR_KEYS)
    if beyond:
        conditions = " and ".join(_VENDOR_PATTERNS)
        raise RulesError(
            f"rule {rule.id!r}: a vendor's rule cannot have these keys: {', '.join(beyond)}; remove them, and use only "
            f"the conditions {conditions}"
        )
    if rule.catches_all:
        raise RulesError(f"rule {rule.id!r} has no condition; add a message or a log")
    if rule.cause not in _VENDOR_CAUSES:
        causes = ", ".join(cause for cause in Cause if cause in _VENDOR_CAUSES)
        raise RulesError(
            f"rule {rule.id!r}: a vendor's rule cannot have the cause {rule.cause.value!r}; use one of {causes}"
        )
    return replace(rule, device=devices)


def _rule(table: Any, number: int) -> Rule:
    if not isinstance(table, dict) or not isinstance(table.get("id"), str) or not table["id"]:
        raise RulesError(f"rule number {number} has no id; give it one")
    name = table["id"]
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise RulesError(
            f"rule {name!r}: unknown key {', '.join(map(repr, unknown))}; use only {', '.join(sorted(_KEYS))}"
        )
    if not isinstance(table.get("says"), str) or not table["says"]:
        raise RulesError(f"rule {name!r}: 'says' is missing; add the sentence that explains the cause to people")
    right_at = table.get("right_at", False)
    if "right_at" in table and right_at is not True:
        raise RulesError(f"rule {name!r}: right_at is {right_at!r}; set it to true, or remove it")
    values = {key: _texts(f"rule {name!r}", key, table[key]) for key in (*_WORDS, *_PATTERNS) if key in table}
    for key, words in _ENUMERATED.items():
        for word in values.get(key, ()):
            _member(name, key, word, words)
    conditions: dict[str, Any] = {key: frozenset(values[key]) for key in _WORDS if key in values}
    conditions |= {key: _linear(name, key, values[key]) for key in _PATTERNS if key in values}
    cause = _member(name, "cause", table.get("cause"), Cause)
    return Rule(id=name, cause=cause, says=table["says"], right_at=right_at, **conditions)


def _texts(subject: str, key: str, value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise RulesError(f"{subject}: {key} is {value!r}; write a text or a list of texts, none of them empty")
    return texts


def _member(rule: str, key: str, value: Any, words: type[_Word]) -> _Word:
    try:
        return words(value)
    except ValueError:
        raise RulesError(f"rule {rule!r}: {key} is {value!r}; use one of {', '.join(words)}") from None


def _linear(rule: str, key: str, patterns: Iterable[str]) -> _Words:
    for pattern in patterns:
        try:
            require_linear(pattern)
        except PatternError as error:
            raise RulesError(
                f"rule {rule!r}: {key} {pattern!r} is not a regular expression in RE2's syntax ({error}); correct it; "
                "look-around and back-references are not possible"
            ) from error
    return frozenset(patterns)


def _is_one(words: _Words, value: str | None) -> bool:
    return not words or value in words


def _is_found(patterns: _Words, failure: _Evidence, field: str) -> bool:
    return not patterns or not patterns.isdisjoint(failure.matching_patterns(field))


class RulesByEnding:
    """For each ending, the rules that can match it, in order. All patterns for one kind of evidence are in one pattern
    set."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.of: Mapping[Ending, Sequence[tuple[Rule, Classification]]] = {
            ending: [(rule, rule.classification) for rule in rules if _is_one(rule.ending, ending)] for ending in Ending
        }
        self.patterns: Mapping[str, PatternSet] = {
            field: PatternSet(
                sorted(frozenset().union(*(getattr(rule, field) for rule in rules))), whole=field in _WHOLE
            )
            for field in _PATTERNS
        }


class _Evidence:
    """The evidence to match with rules. Each text is searched only once, when the first rule needs it."""

    def __init__(self, outcome: Outcome, framework: str, device: str, patterns: Mapping[str, PatternSet]) -> None:
        self.ending = outcome.ending
        self.evidence = outcome.evidence or _NO_EVIDENCE
        self.framework = framework
        # A single rule may match all lowered targets, because none of their values comes from the device.
        self.device = frozenset((device, EVERY_LOWERED) if is_lowered(device) else (device,))
        self._log_tail = outcome.log_tail
        self._patterns = patterns
        self._found: dict[str, _Words] = {}

    def matching_patterns(self, field: str) -> _Words:
        """Return the patterns, over all rules for this kind of evidence, that match the outcome's text."""
        if field not in self._found:
            texts = map(self._patterns[field].found_in, self._texts(field))
            self._found[field] = frozenset().union(*texts)
        return self._found[field]

    def _texts(self, field: str) -> Sequence[str]:
        match field:
            case "message":
                return (readable(self.evidence.message or ""),)
            case "frames":
                return self.evidence.frames
            case "dtypes":
                return self.evidence.dtypes
            case "log":
                return (self._log_tail[-LOG_TAIL:],)
            case _:
                return (getattr(self.evidence, field) or "",)


_FILE = Path(__file__).with_name("rules.toml").read_text(encoding="utf-8")
_VENDORS = {
    path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).with_name("vendors").glob("*.toml"))
}
RULES_REVISION = hashlib.sha256("\0".join((_FILE, *_VENDORS.values())).encode()).hexdigest()[:12]
"""A digest of the rules. Outcomes that were classified by rules with another digest should be classified again."""


@cache
def shipped_rules() -> tuple[Rule, ...]:
    """Return the rules that ship with Portolan. They are loaded at the first failure, because their patterns take 10 MB
    and 0.1 s."""
    return load(_FILE, _VENDORS)


@cache
def _by_ending() -> RulesByEnding:
    return RulesByEnding(shipped_rules())


@cache
def _by_id() -> Mapping[str, Rule]:
    return {rule.id: rule for rule in shipped_rules()}


def classify(outcome: Outcome, *, framework: str, device: str, rules: RulesByEnding | None = None) -> Classification:
    """Decide the verdict, cause and rule of an outcome. The verdict that the runner reported is not used.

    This takes some microseconds for the messages of frameworks, and some milliseconds for a text that was constructed
    to be slow.
    """
    if outcome.ending is Ending.returned and not is_lowered(device):
        return _PASSED
    rules = rules or _by_ending()
    failure = _Evidence(outcome, framework, device, rules.patterns)
    return next(classification for rule, classification in rules.of[outcome.ending] if rule.matches(failure))


def describe(rule_id: str) -> str | None:
    """Return the sentence that describes a rule to people; None if the current rules do not contain it."""
    rule = _by_id().get(rule_id)
    return rule.says if rule else None


def readable(message: str) -> str:
    """Return the readable part of a message, without stacks and lists of kernels. Of a long message, only the beginning
    and the end."""
    words = _ends(message, _UNCUT_HEAD, _UNCUT_TAIL)
    for mark in (*_CPP_STACK, _DISPATCH_TABLE):
        words = words.partition(mark)[0]
    if "{{function_node" in words:
        words = _GRAPH_NODE.erase(words)
    if 'File "' in words:
        words = _PYTHON_STACK.erase(words).lstrip()
    return _ends(words, _HEAD, _TAIL)


def _ends(text: str, head: int, tail: int) -> str:
    """Return the beginning and the end of a long text."""
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[-tail:]}"
