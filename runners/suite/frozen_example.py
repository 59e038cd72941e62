"""Runs a frozen example on a device, judges its values, and finds out whether a failure is the function's fault."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from typing import Any

import numpy as np

from runners.errors import OtherLineError, UnfreezableError
from runners.suite.apart import AROUND, ASIDE
from runners.suite.cases import Case, Context, TakenApart
from runners.suite.checks import Expected, Leaf, Mismatch, Tolerance, compare
from runners.suite.examples import (
    Dialect,
    Example,
    OwnStatements,
    Session,
    Step,
    comparable,
    failure_at,
    is_called_by,
    kept,
    lines_of,
    names_for,
    step_of,
)
from runners.suite.frozen import FrozenForm
from runners.suite.readings import ReadingComparison, Readings, arrays_of, landed
from runners.suite.reseeding import Reseeded

OWN, OTHERS, ENDED = "own", "others", "ended"
INPUTS, RESULTS = "inputs", "results"
_HOST = re.compile(r"""["']cpu(:\d+)?["']|\.cpu\(""")
"""Matches code by which an example puts an array on the host."""


def _part(case: Case, observed: Mapping[str, Any], expected: Any) -> tuple[Case, Any, Any]:
    """Return a case that judges only the observed labels (by values or by form), with the values to judge."""
    if isinstance(case.check, FrozenForm):
        return replace(case, check=case.check.of(observed)), observed, None
    values = {label: expected[label] for label in observed}
    return replace(case, check=FrozenValues(values, case.dtype, case.tolerance)), observed, None


@dataclass(frozen=True)
class FrozenValues:
    """Compares the values of an example with those from the time when it was frozen.

    A framework adds numbers in a different order on each machine. So the error of a value may be a few rounding errors
    of the largest value in the array. This also holds for a small value that is a difference of large values. Therefore
    the absolute tolerance grows with the largest value.
    """

    expected: Mapping[str, Any]
    dtype: str
    tolerance: Tolerance

    def __call__(self, observed: Mapping[str, Any], *arguments: Any, **options: Any) -> None:
        wrong = list(filter(None, (self._difference(label, observed[label]) for label in self.expected)))
        if wrong:
            right_at = {mismatch.right_at for mismatch in wrong}
            raise Mismatch("; ".join(map(str, wrong[:4])), right_at.pop() if len(right_at) == 1 else None)

    def _difference(self, label: str, observed: Any) -> Mismatch | None:
        wanted = self.expected[label]
        absolute = max(self.tolerance.absolute, self.tolerance.relative * _largest(wanted))
        try:
            compare({label: observed}, {label: wanted}, self.dtype, replace(self.tolerance, absolute=absolute))
        except Mismatch as mismatch:
            return mismatch
        return None


def _largest(tree: Any) -> float:
    """Return the largest finite absolute value of the floats in a tree of expected values; 0 if there are none."""
    if isinstance(tree, Mapping):
        return max(map(_largest, tree.values()), default=0.0)
    if isinstance(tree, (list, tuple)):
        return max(map(_largest, tree), default=0.0)
    values = np.asarray(tree.values if isinstance(tree, Expected) else tree)
    if values.dtype.kind not in "fc":
        return 0.0
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


class ExampleRun:
    """One run of an example's statements in a namespace of its own."""

    def __init__(
        self,
        dialect: Dialect,
        context: Context,
        example: Example,
        steps: Sequence[Step],
        readings: Readings | None = None,
    ) -> None:
        self.own = OwnStatements(steps, dialect)
        self._dialect = dialect
        self._context = context
        self._example = example
        self._steps = steps
        self._readings = readings
        """Records readings during the run; None in a run that is watched, timed or judged."""
        self._session = Session(names_for(context.function, example.name, dialect, context.device))
        self._session.names[ASIDE] = self._aside
        self._session.names[AROUND] = self._around

    def to_its_end(self) -> str | None:
        """Run the statements. The watch pauses during statements that are not the function's own.

        If another line fails after the function's first own statement, the run ends. Returns its error, or None.
        """
        begun = False
        # Whether a statement is the function's own depends on the names that earlier statements have bound.
        for is_own, part in groupby(self._steps, self.own.has):
            begun |= is_own
            step = None
            try:
                with nullcontext() if is_own else self._context.surroundings(self._values_so_far()):
                    for step in part:
                        self._run(step, is_own)
            except Exception as error:
                if is_own or step is None or isinstance(error, ImportError):
                    raise
                failure = failure_at(step, error)
                if not begun:
                    # The function has not run yet, so it cannot be the reason.
                    raise OtherLineError(failure) from error
                return failure
        return None

    def to_the_function(self) -> None:
        """Run the statements before the function's first own statement, and read the values that it uses."""
        for step in self._steps:
            if self.own.has(step):
                self._read_names(step)
                return
            self._run(step, False)

    def wanted(self, *, has_ended: bool) -> dict[str, Any]:
        """Return the values to compare: those of the function's own lines, and those of other lines.

        If the run ended early (``has_ended``), values that do not exist are left out.
        """
        results = self._session.results()
        values: dict[str, Any] = {OWN: {}, OTHERS: {}}
        for label in self._example.wanted:
            if not has_ended or label in results:
                values[OWN if self.own.have_given(label) else OTHERS][label] = self._shown(results.get(label))
        return values

    def _run(self, step: Step, is_own: bool) -> None:
        if is_own:
            self._read_names(step)
        self._session.run(step)
        self.own.ran(step, self._session.names)

    def _read_names(self, step: Step) -> None:
        """Read the values of other lines that a statement of the function uses by name."""
        if self._readings is None:
            return
        for name in sorted(step.used):
            if self.own.is_input(name) and name in self._session.names:
                self._readings.take(f"{name} in statement {step.place}", self._session.names[name])

    def _aside(self, used: Sequence[str], argument: Callable[[], Any]) -> Any:
        """Evaluate an argument of the function's call. The watch pauses, unless it uses an object of the function."""
        if self.own.made_any_of(used):
            return argument()
        self.own.ran_apart(argument)
        with self._context.surroundings(self._values_so_far()):
            value = argument()
        if self._readings is not None:
            self._readings.take(self._words(argument), value)
        return value

    def _around(self, used: Sequence[str], rest: Callable[..., Any], earlier: Sequence[Any], value: Any) -> Any:
        """Evaluate the rest of an expression with the result of the function's call, ``value``.

        The watch pauses if the result is a plain value or array, so that the rest is not the function's work.
        ``earlier`` holds the parts of the expression that were computed before the call.
        """
        if self.own.made_any_of(used) or not self.own.is_value(value):
            return rest(value, *earlier)
        self.own.ran_apart(rest)
        if self._readings is not None:
            self._readings.give(self._words(rest), value)
        with self._context.surroundings([*self._values_so_far(), value]):
            return rest(value, *earlier)

    def _words(self, expression: Callable[..., Any]) -> str:
        """Describe an expression that ran apart: its source, and the number of its statement."""
        name = expression.__name__
        return next(f"{step.apart[name]} in statement {step.place}" for step in self._steps if name in step.apart)

    def _values_so_far(self) -> list[Any]:
        return [value for value in self._session.results().values() if self.own.is_value(value)]

    def _shown(self, value: Any) -> Any:
        """Convert a value for comparison. If that is impossible, it becomes a text, which equals no expected value."""
        try:
            return comparable(value, self._dialect)
        except UnfreezableError as error:
            return str(error)


@dataclass(frozen=True)
class FrozenExample:
    """Prepares a frozen example. The call runs its statements and returns the values to compare, by their labels.

    The result has three keys: ``OWN`` for values that the function made, ``OTHERS`` for other values, and ``ENDED`` for
    the error of another line that ended the run early, or None.
    """

    example: str
    dialect: Dialect

    def __call__(self, context: Context) -> Callable[[], Any]:
        example = Example.read(self.example)
        steps = [step_of(example.name, statement, self.dialect.rewritten) for statement in example.statements]
        by_place = {step.place: step for step in steps}
        runs: list[ExampleRun] = []

        def call() -> Any:
            with kept(self.dialect.settings()), self.dialect.forced(context.device):
                run = ExampleRun(self.dialect, context, example, steps)
                runs[:] = [run]
                failure = run.to_its_end()
                return {**run.wanted(has_ended=failure is not None), ENDED: failure}

        run_all = self.dialect.compiled(context, call)

        def charged() -> Any:
            try:
                return run_all()
            except (OtherLineError, ImportError):
                raise
            except Exception as error:
                lines = [line for line in lines_of(error, example.name) if line.place in by_place]
                own = runs[0].own if runs else OwnStatements(steps, self.dialect)
                if not lines or is_called_by(error, context.function):
                    raise
                if any(own.uses(by_place[line.place], line) for line in lines):
                    raise
                raise OtherLineError(failure_at(by_place[lines[0].place], error, lines[0].scope)) from error

        return charged

    def readings(self, context: Context, *, reseeded: bool = False) -> ExampleReadings:
        """Run the example on a device and return its readings. With ``reseeded``, all seeds are changed."""
        rewritten = partial(_reseeded, self.dialect.rewritten) if reseeded else self.dialect.rewritten
        example = Example.read(self.example)
        steps = [step_of(example.name, statement, rewritten) for statement in example.statements]
        beside: set[str] = set()

        def read(run_part: Callable[[ExampleRun], object]) -> Any:
            readings = Readings(self.dialect, context.to_host)
            with kept(self.dialect.settings()), self.dialect.forced(context.device):
                run = ExampleRun(self.dialect, context, example, steps, readings)
                # The readings before an error show where the error came from.
                with suppress(Exception):
                    run_part(run)
                values = run.wanted(has_ended=True)
            beside.update(label for label in values[OWN] if run.own.is_made_beside(label))
            return {**values, ENDED: None, INPUTS: readings.inputs, RESULTS: readings.results}

        whole = self.dialect.compiled(context, partial(read, ExampleRun.to_its_end))
        try:
            values = landed(whole(), context.to_host)
        except Exception:
            # A compiler fails for all lines at once. Then only the lines before the function are run and read.
            before = self.dialect.compiled(context, partial(read, ExampleRun.to_the_function))
            values = landed(before(), context.to_host)
        return ExampleReadings(values[INPUTS], values[RESULTS], values[OWN], frozenset(beside))

    def fault_of_others(
        self, case: Case, here: ExampleReadings, there: ExampleReadings, reseed: Callable[[], ExampleReadings]
    ) -> str | None:
        """Explain why a failure is not the function's fault; None if it may be.

        Compares the readings ``here``, on the device, with the readings ``there``, on the host. ``reseed`` returns the
        readings of another run on the host, with other seeds.
        """
        again = cache(reseed)
        difference = _first_difference(case, here.inputs, there.inputs, lambda: again().inputs)
        if difference is not None:
            return f"an input of the function is not as on the host: {difference}"
        expected = case.reference() if case.reference is not None else None
        wrong = {label for label, value in here.own.items() if not _is_right(_part(case, {label: value}, expected))}
        if not wrong or not wrong <= here.beside or here.results.keys() != there.results.keys():
            return None
        # A plain number may describe something other than the result's values, such as its strides in memory.
        if not all(any(arrays_of(there.own.get(label))) for label in wrong):
            return None
        if _first_difference(case, here.results, there.results, lambda: again().results) is not None:
            return None
        labels = ", ".join(sorted(wrong))
        return f"the function's results are as on the host, and what the example computes of them is wrong: {labels}"

    @property
    def names_host(self) -> bool:
        """Whether the example itself puts an array on the host. Then a result on the host is not a fallback."""
        return any(_HOST.search(statement.source) for statement in Example.read(self.example).statements)

    def own_values(self, observed: Any) -> Any:
        """Return the values that the function made."""
        return observed[OWN]

    def take_apart(self, case: Case, observed: Any, expected: Any) -> TakenApart:
        """Split the values into those that the function made and all others, each with a case that judges them."""
        return TakenApart(
            _part(case, observed[OWN], expected), _part(case, observed[OTHERS], expected), observed[ENDED]
        )


@dataclass(frozen=True)
class ExampleReadings:
    """The readings of a run of an example, all copied to the host."""

    inputs: Mapping[str, Any]
    results: Mapping[str, Any]
    own: Mapping[str, Any]
    """The values of the function's own lines that are compared."""
    beside: frozenset[str]
    """The labels of those own values that the rest of an expression computed from the function's result."""


def _is_right(part: tuple[Case, Any, Any]) -> bool:
    case, observed, _ = part
    assert case.check is not None
    try:
        case.check(observed)
    except AssertionError:
        return False
    return True


def _first_difference(
    case: Case, here: Mapping[str, Any], there: Mapping[str, Any], reseed: Callable[[], Mapping[str, Any]]
) -> str | None:
    """Describe the first reading that differs from the host's, unless only random numbers make the difference."""
    judge = partial(_difference, case)
    if ReadingComparison(there, there, judge).first_difference(here) is None:
        return None
    return ReadingComparison(there, reseed(), judge).first_difference(here)


def _difference(case: Case, label: str, observed: Any, expected: Any) -> str | None:
    """Describe how a reading differs from the host's, at the tolerance of the case; None if it does not."""
    one, other = (
        Leaf(np.asarray(value), str(value.dtype), "host") if isinstance(value, (np.ndarray, np.generic)) else value
        for value in (observed, expected)
    )
    wanted = Expected(other.values, other.dtype) if isinstance(other, Leaf) else other
    try:
        FrozenValues({label: wanted}, case.dtype, case.tolerance)({label: one})
    except Mismatch as wrong:
        return str(wrong).partition(f"result[{label!r}]: ")[2] or str(wrong)
    return None


def _reseeded(rewritten: Callable[[ast.Module], ast.Module], tree: ast.Module) -> ast.Module:
    return rewritten(Reseeded(1).visit(tree))
