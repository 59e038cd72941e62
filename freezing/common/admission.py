"""Decide about an example after its runs: a case with compared values, a case that only runs, or a reason. Pure.

A value is compared under three conditions. It is bit-identical in six runs, which differ in seeds and in Python's
hashes. It agrees with the docstring, if that prints the value. And no statement with several right results led to it.
A case compares values if the example's function led to at least one such value. Everything else is listed with its
reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from freezing.common.agreement import tolerance_of
from freezing.common.flow import asks_for_cpu, find_reached, find_touched, last_names
from freezing.common.observation import ObservationFile, ObservedValue, Unit
from freezing.common.parts import Reason
from protocol.enums import FORM_ONLY, JUDGED_BY, Judge
from runners.suite.examples import Example, Statement
from runners.suite.frozen import PackWriter, as_text, form
from runners.suite.source import bound_names

CASE = "example"
"""The name of each case: a function has one."""
DTYPE = "float32"
"""The dtype of each case. It means the framework's default settings, since the example makes its own inputs."""
AS_DOCUMENTED = "as-documented"
"""The tag of a case with a compared value that the docstring prints, too."""
RANDOM, NOT_UNIQUE, NOT_AS_DOCUMENTED, NO_VALUE = "random", "not-unique", "not-as-documented", "no-value"
"""The tags of cases that only run. A tag says that values differ from run to run, are not the only right ones, or
differ from the docstring, or that there is no value."""
DIFFERS = "a value that differs from run to run"
BY_CHANCE = "a value that may be the same by chance"
NOT_THE_ONLY_ONE = "a value that is not the only right one"
NOT_PRINTED = "a value that is not what the docstring prints"
_TAGS = {DIFFERS: RANDOM, BY_CHANCE: RANDOM, NOT_THE_ONLY_ONE: NOT_UNIQUE, NOT_PRINTED: NOT_AS_DOCUMENTED}
NOT_USED = "its example does not use it"
NOTHING_RUNS = "nothing of its example runs"
SAME_EXAMPLE = "the same example as another"
AT_TIMES = "a statement raises at times"
ASKS_FOR_CPU = "its example asks for the CPU"


@dataclass
class ExampleDecision:
    """The decision about an example: at most one case, and the reasons of everything that it leaves out."""

    case: dict[str, Any] | None = None
    left_out: list[Reason] = field(default_factory=list)


@dataclass(frozen=True)
class LeftOpen:
    """The functions with several right results. ``names`` and ``pattern`` match the part after the last dot."""

    names: frozenset[str]
    pattern: str = "(?!)"

    def places(self, statements: Sequence[Statement]) -> set[int]:
        """Return the places of statements that mention one of these functions."""
        return {statement.place for statement in statements if any(map(self._has, last_names(statement)))}

    def _has(self, name: str) -> bool:
        return name in self.names or re.fullmatch(self.pattern, name) is not None


def admit(
    unit: Unit, first: ObservationFile, second: ObservationFile, left_open: LeftOpen, pack: PackWriter
) -> ExampleDecision:
    """Decide about an example by its two runs."""
    admission = ExampleDecision()
    for observation in (first, second):
        reason = observation.ended or observation.refused
        if reason is not None:
            admission.left_out += [(other, "", *reason) for other in unit.names]
            return admission
    if second.dropped:
        admission.left_out += [(other, "", AT_TIMES, _first(second)) for other in unit.names]
        return admission
    statements = [statement for statement in unit.docstring.statements if statement.place not in first.dropped]
    if asks_for_cpu(statements):
        admission.left_out += [(other, "", ASKS_FOR_CPU, "") for other in unit.names]
        return admission
    example_function = _function_of_example(unit, first)
    admission.left_out += _not_chosen(unit, first, example_function, nothing=not statements)
    owner = example_function or unit.names[0]
    admission.left_out += [
        (owner, f"statement {place}", "a statement that is not Python", why) for place, why in unit.docstring.unread
    ]
    admission.left_out += [
        (owner, f"statement {place}", f"a statement that {reason}", detail)
        for place, (reason, detail) in sorted(first.dropped.items())
    ]
    if example_function is None:
        return admission
    admission.left_out += [
        (example_function, label, "a value without a written form", why) for label, why in first.unwritten.items()
    ]
    values = Values(statements, first, second, left_open)
    admission.left_out += [(example_function, label, reason, detail) for label, reason, detail in values.left_out]
    admission.case = _case(example_function, statements, values, first.uses[example_function], pack)
    return admission


def _first(observation: ObservationFile) -> str:
    place, (reason, detail) = min(observation.dropped.items())
    return f"statement {place} {reason}: {detail}"


def _function_of_example(unit: Unit, observation: ObservationFile) -> str | None:
    """Return the function that gets the example's case: the first of the unit's functions that the example uses."""
    return next((name for name in unit.names if observation.uses[name]), None)


def _not_chosen(
    unit: Unit, observation: ObservationFile, example_function: str | None, *, nothing: bool
) -> Iterator[Reason]:
    for name in unit.names:
        if name == example_function:
            continue
        if nothing:
            yield name, "", NOTHING_RUNS, ""
        elif example_function is not None:
            yield name, "", SAME_EXAMPLE, example_function
        else:
            yield name, "", NOT_USED, ""


class Values:
    """The values of an example, sorted by what may be compared: value and form, only the form, or nothing."""

    def __init__(
        self, statements: Sequence[Statement], first: ObservationFile, second: ObservationFile, left_open: LeftOpen
    ) -> None:
        self.same: dict[str, Any] = {}
        self.of_a_form: dict[str, Any] = {}
        self.left_out: list[tuple[str, str, str]] = []
        self.agreed = {label for label, is_so in first.agreed.items() if is_so}
        self._given = {label for label in (*first.values, *first.unwritten) if label.isdigit()}
        self._statements = list(statements)
        open_labels = find_touched(self._statements, left_open.places(statements))
        differing = {label for label, value in first.values.items() if _differs(label, value, second)}
        of_chance = find_reached(self._statements, _places_of(differing, statements), self._given)
        for label, value in first.values.items():
            other = second.values.get(label)
            if other is None or other.form != value.form or label in second.reshaped:
                self.left_out.append((label, "a value whose form differs from run to run", ""))
                continue
            self.of_a_form[label] = value.tree
            reason = None
            if label in differing:
                reason = DIFFERS
            elif label in of_chance and not _is_size(value.tree):
                reason = BY_CHANCE
            elif label in open_labels:
                reason = NOT_THE_ONLY_ONE
            elif first.agreed.get(label) is False:
                reason = NOT_PRINTED
            if reason is None:
                self.same[label] = value.tree
            else:
                self.left_out.append((label, reason, ""))

    def why_not_compared(self) -> str:
        """Return the tag of a case that only runs. If several tags apply, return the most important one."""
        tags = {_TAGS.get(reason, NO_VALUE) for _, reason, _ in self.left_out}
        return next((tag for tag in (RANDOM, NOT_UNIQUE, NOT_AS_DOCUMENTED) if tag in tags), NO_VALUE)

    def led_to(self, uses: Collection[int]) -> bool:
        """Whether the statements at these places lead to a value that can be compared."""
        return bool(find_reached(self._statements, uses, self._given) & set(self.same))


def _differs(label: str, value: ObservedValue, second: ObservationFile) -> bool:
    other = second.values.get(label)
    return other is None or other.text != value.text or label in second.differs


def _places_of(labels: Collection[str], statements: Sequence[Statement]) -> set[int]:
    """Return the places of the statements that return these values or bind these names."""
    return {
        statement.place
        for statement in statements
        if str(statement.place) in labels or not bound_names(ast.parse(statement.source).body).isdisjoint(labels)
    }


def _is_size(tree: Any) -> bool:
    """Whether a value consists of plain integers, like a shape. The shape of a random array is not random."""
    return all(map(_is_size, tree)) if isinstance(tree, list) else type(tree) is int


def _case(
    name: str, statements: Sequence[Statement], values: Values, uses: Collection[int], pack: PackWriter
) -> dict[str, Any]:
    values_compared = values.led_to(uses)
    result_values: Mapping[str, Any] = values.same if values_compared else values.of_a_form
    example_text = Example(name, tuple(statements), tuple(result_values)).written()
    case: dict[str, Any] = {"function": name, "name": CASE, "dtype": DTYPE, "arrays": [], "call": example_text}
    if not values_compared:
        why = values.why_not_compared()
        return case | {
            "kind": "behaviour",
            "result": as_text(form(result_values)),
            "expected": [],
            "tags": [FORM_ONLY, why],
        }
    tolerance = tolerance_of(DTYPE, result_values)
    result, digests = pack.add_tree(dict(result_values))
    tags = [f"{JUDGED_BY}{Judge.itself}", *([AS_DOCUMENTED] if values.agreed & set(result_values) else [])]
    return case | {
        "kind": "value",
        "result": result,
        "expected": digests,
        "tolerance": [tolerance.relative, tolerance.absolute],
        "tags": tags,
    }
