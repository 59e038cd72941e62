"""Examples: what their statements give and leave, and that nothing they turn outlives them."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from runners.errors import OtherLineError, UnfreezableError
from runners.suite.cases import Context, Function
from runners.suite.checks import TOLERANCES, Leaf, Mismatch
from runners.suite.examples import (
    Example,
    OwnStatements,
    Session,
    Statement,
    comparable,
    kept,
    step_of,
)
from runners.suite.frozen_example import ENDED, OTHERS, OWN, FrozenExample, FrozenValues
from runners.suite.judgement import judge
from tests.unit.runners.suite.toy_examples import Generator, ToyDialect, toy


def frozen_run(*sources: str, labels: tuple[str, ...] = (), **context: Any) -> Any:
    """A run of these statements, which returns all their wanted values."""
    call = run_of(*sources, labels=labels, **context)

    def values() -> Any:
        values_by_label = call()
        assert values_by_label[ENDED] is None
        return values_by_label[OWN] | values_by_label[OTHERS]

    return values


def run_of(*sources: str, labels: tuple[str, ...] = (), name: str = "toy.double", **context: Any) -> Any:
    statements = tuple(Statement(place, source) for place, source in enumerate(sources, 1))
    example_text = Example(name, statements, labels).written()
    return FrozenExample(example_text, ToyDialect())(Context(None, "there", "toy", None, lambda tree: tree, **context))


def test_an_example_is_read_as_it_was_written() -> None:
    example = Example("toy.double", (Statement(1, "a = 'ö'\nb = 1"), Statement(3, "a")), ("a", "3"))
    assert Example.read(example.written()) == example


def test_it_gives_the_values_of_expressions_and_of_variables_at_the_end() -> None:
    call = frozen_run("a = [1]", "toy.double(2)", "a.append(5)", "b = 1.5", labels=("a", "2", "b"))
    assert call() == {"a": [1, 5], "2": 4.0, "b": 1.5}


def test_every_call_begins_anew() -> None:
    call = frozen_run("a = []", "a.append(1)", "len(a)", labels=("3",))
    assert [call(), call()] == [{"3": 1}, {"3": 1}]


def test_what_is_printed_is_a_value_and_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    call = frozen_run("print(toy.double(2))", "for n in (1, 2):\n    print(n, -n)", labels=("1", "2"))
    assert call() == {"1": 4.0, "2": [1, -1, 2, -2]}
    assert capsys.readouterr().out == ""


def test_a_function_of_an_example_sees_its_names_and_has_a_source() -> None:
    call = frozen_run(
        "factor = 3",
        "def triple(x):\n    return factor * x",
        "import inspect",
        "len(inspect.getsource(triple).splitlines())",
        "triple(2)",
        labels=("4", "5"),
    )
    assert call() == {"4": 2, "5": 6}


def judge_run(*sources: str, **expected_values: Any) -> None:
    """Run these statements as a case of ``toy.double``, and judge their values."""
    call = run_of(*sources, labels=tuple(expected_values))
    statements = tuple(Statement(place, source) for place, source in enumerate(sources, 1))
    function = Function("toy.double")
    function.value(
        "example",
        lambda inputs: [],
        prepare=FrozenExample(Example("toy.double", statements, tuple(expected_values)).written(), ToyDialect()),
        reference=lambda: expected_values,
    )
    judge(function.cases[0], call(), expected_values, list)


def test_a_line_before_the_first_that_uses_the_function_is_not_charged_to_it() -> None:
    with pytest.raises(
        OtherLineError, match=r"statement 1 of the example, which does not use .* ValueError: no array of that size"
    ):
        judge_run("raise ValueError('no array of that size')", "toy.double(2)")
    for after in (("toy.double(2)", "a = toy.double(x)"), ("raise NameError('never named')",)):
        with pytest.raises(NameError, match=r"name 'x'|never named"):
            judge_run(*after)


def test_a_later_line_that_does_not_use_the_function_is_not_charged_to_it_if_its_values_are_right() -> None:
    sources = ("a = toy.double(2)", "b = a * 3", "1 / 0", "c = 1")
    with pytest.raises(OtherLineError, match=r"statement 3 of the example, .* ZeroDivisionError"):
        judge_run(*sources, a=4.0, b=12.0, c=1)
    with pytest.raises(Mismatch, match=r"result\['a'\]: expected 5"):
        judge_run(*sources, a=5.0, b=12.0, c=1)
    with pytest.raises(OtherLineError, match=r"gave a wrong value: result\['b'\]: expected 13"):
        judge_run(*sources[:2], a=4.0, b=13.0)
    with pytest.raises(Mismatch, match=r"result\['a'\]: expected 5"):
        judge_run(*sources[:2], a=5.0, b=13.0)
    judge_run(*sources[:2], a=4.0, b=12.0)


def test_a_value_that_the_function_may_have_changed_or_that_is_only_shown_is_its_own() -> None:
    for sources, wrong in (
        (("b = [1] * 2", "toy.double(b.pop())", "b"), {"b": [1, 1]}),
        (("a = toy.double(2)", "c = a"), {"c": 5.0}),
    ):
        with pytest.raises(Mismatch, match=r"result\['[bc]'\]"):
            judge_run(*sources, **wrong)


def test_a_value_that_nothing_can_change_is_that_of_the_line_that_made_it() -> None:
    with pytest.raises(OtherLineError, match=r"gave a wrong value: result\['b'\]"):
        judge_run("b = (1,) * 2", "c = toy.double(b[0])", b=(1, 2), c=2.0)


def test_a_function_that_bears_the_name_of_an_argument_or_a_word_of_a_text_is_not_used_by_it() -> None:
    with pytest.raises(OtherLineError, match=r"statement 1 of the example, .* ZeroDivisionError"):
        judge_run("dict(double=1 / 0)", "toy.double(2)")
    with pytest.raises(OtherLineError, match=r"statement 1 of the example, .* KeyError"):
        judge_run("{}['double']  # as toy.double has it", "toy.double(2)")
    with pytest.raises(ZeroDivisionError):
        judge_run("twice = toy.double; twice(1 / 0)")


def test_an_array_of_numpy_that_shares_memory_on_the_host_alone_is_not_the_functions() -> None:
    sources = ("a = np.ones(2)", "t = toy.double(a.tolist()[0])", "toy.double(a[0])", "a[0] = 3", "a")
    wrong = {"dtype": "float64", "values": [-1.0, 1.0]}
    for label in ("a", "5"):
        with pytest.raises(OtherLineError, match=rf"gave a wrong value: result\['{label}'\]"):
            judge_run(*sources, **{"t": 2.0, label: wrong})
    with pytest.raises(Mismatch, match=r"result\['t'\]"):
        judge_run(*sources, t=5.0, a=wrong)


BREAKS = "def breaks(x):\n    y = x / 0\n    return toy.double(y)"


def test_a_line_of_an_examples_own_function_is_charged_to_what_that_line_uses() -> None:
    with pytest.raises(OtherLineError, match=r"statement 1 of the example, .* ZeroDivisionError"):
        judge_run(BREAKS, "breaks(2)")
    with pytest.raises(ZeroDivisionError):
        judge_run("def breaks(x):\n    x = x + 1\n    return toy.double(x / 0)", "breaks(2)")


def test_a_line_that_the_function_itself_calls_may_be_its_fault() -> None:
    def applied(function: Any) -> Any:
        return function(0)

    example = Example("toy.applied", (Statement(1, BREAKS), Statement(2, "applied(breaks)")), ())
    context = Context(applied, "there", "toy", None, lambda tree: tree)
    with pytest.raises(ZeroDivisionError):
        FrozenExample(example.written(), AppliedDialect(applied))(context)()


class AppliedDialect(ToyDialect):
    """The toy's, with one more name."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._applied = function

    def names(self, device: Any) -> Mapping[str, Any]:
        return {**super().names(device), "applied": self._applied}


@pytest.mark.parametrize(
    ("places", "error"), [((1,), OtherLineError), ((2,), ValueError), ((1, 2), ValueError), ((), ValueError)]
)
def test_an_operation_that_a_compiler_refuses_is_charged_to_the_line_that_made_it(
    places: tuple[int, ...], error: type[Exception]
) -> None:
    origin = 'refused\nThe op is created at: \nFile "launch.py", line 42, in <module>\n'
    origins = [f'{origin}File "<toy.double, statement {place}>", line 1, in <module>\n' for place in places]
    with pytest.raises(error, match="refused"):
        judge_run("a = [1]", "toy.double(a[0])", f"raise ValueError({''.join(origins) or 'refused'!r} or toy.double)")


def test_what_is_only_shown_is_whose_value_it_is() -> None:
    with pytest.raises(OtherLineError, match=r"gave a wrong value: result\['3'\]"):
        judge_run("b = [1] * 2", "a = toy.double(1)", "b", **{"3": [1, 2]})
    with pytest.raises(Mismatch, match=r"result\['2'\]"):
        judge_run("a = toy.double(1)", "a", **{"2": 3.0})


@pytest.mark.parametrize(
    ("sources", "surroundings"),
    [
        # A call of the function is its own, also within another; those before and after it are not.
        (("a = 1", "b = 2", "c = abs(toy.double(a))", "c + b"), [1, 2, 4]),
        # So is whatever works with an object that it has made, but not with an array or a number.
        (("x = 1", "g = Generator()", "a = g.draw()", "a + x"), [1, 4]),
        (("g = Generator()", "h = g", "h.draw()", "h = 1", "h + 1"), [4, 5]),
        (("g = Generator()", "both = [g, 1]", "both[0].draw()"), []),
        # An import binds other names beside the function's.
        (("from operator import abs, double", "a = abs(1)", "double(a)"), [2]),
        # Where no statement names the function, as of an operator, all may be its own.
        (("a = 1", "a + 1"), []),
    ],
)
def test_statements_that_are_not_the_functions_are_its_surroundings(
    sources: tuple[str, ...], surroundings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator, "double", toy.double, raising=False)
    name = "toy.Generator" if "Generator" in "".join(sources) else "toy.double"
    steps = [step_of(name, Statement(place, source), lambda tree: tree) for place, source in enumerate(sources, 1)]
    session = Session({"toy": toy, "Generator": Generator})
    own = OwnStatements(steps, ToyDialect())
    places = []
    for step in steps:
        if not own.has(step):
            places.append(step.place)
        session.run(step)
        own.ran(step, session.names)
    assert places == surroundings


def test_a_run_pauses_the_watch_for_neighbouring_surroundings_at_once() -> None:
    pauses: list[list[Any]] = []

    @contextmanager
    def pause(so_far: list[Any]) -> Iterator[None]:
        pauses.append(so_far)
        yield

    sources = ("a, b = 1, [2]", "import os", "c = toy.double(a)", "d = c + b[0]", "toy.double(d)")
    call = frozen_run(*sources, labels=("5",), surroundings=pause)
    assert call() == {"5": 8.0}
    # What it may return by then, but for what is no value.
    assert pauses == [[], [1, [2], 2.0]]


@pytest.mark.parametrize(("sources", "pauses"), [
    (("toy.double(abs(-1))",), 1),
    (("toy.double(value=abs(-1))",), 1),
    (("toy.double(*[abs(-1)])",), 1),
    (("abs(toy.double(abs(-1) + 1))",), 2),
    (("toy.double(toy.double(1))",), 0),
    (("toy.double(1) + abs(-1)",), 1),
    (("abs(-1) + toy.double(1)",), 2),
    (("max(abs(-1), toy.double(1), abs(-2))",), 3),
    (("max(*[abs(-1)], toy.double(1))",), 1),
    (("toy.double(1) + toy.double(2)",), 0),
    (("x = 1", "y = 2 if x else toy.double(x)"), 1),
    (("print(abs(toy.double(1)))",), 1),
    (("print(abs(-1), toy.double(1))",), 1),
    (("x = abs(toy.double(1))",), 1),
    (("for _ in range(int(toy.double(1))): pass",), 1),
    (("abs(x := toy.double(1))",), 0),
    (("x = 1", "toy.double(x + 1)"), 2),
    (("toy.double(-1)",), 0),
    (("toy.double(sum(abs(x) for x in [1]))", ), 1),
    (("[toy.double(abs(x)) for x in [1]]",), 0),
    (("toy.double(b := abs(-1))",), 0),
    (("f = toy.double and (lambda: 3)", "toy.double(f())"), 0),
])  # fmt: skip
def test_what_an_expression_computes_beside_the_function_is_none_of_its_work(
    sources: Sequence[str], pauses: int
) -> None:
    count = 0

    @contextmanager
    def pause(so_far: list[Any]) -> Iterator[None]:
        nonlocal count
        count += 1
        yield

    frozen_run(*sources, labels=(), surroundings=pause)()
    assert count == pauses


@pytest.mark.parametrize(("sources", "pauses"), [
    (("Generator().draw()",), ["Generator()"]),
    (("g = Generator()", "abs(g.draw())"), ["g = Generator()", "abs"]),
    (("abs(g.draw() for g in [Generator()])",), []),
])  # fmt: skip
def test_what_makes_the_object_of_a_method_is_no_work_of_the_method(sources: Sequence[str], pauses: list[str]) -> None:
    count = 0

    @contextmanager
    def pause(so_far: list[Any]) -> Iterator[None]:
        nonlocal count
        count += 1
        yield

    call = run_of(*sources, name="toy.Generator.draw", surroundings=pause)
    if pauses:
        call()
    assert count == len(pauses)


def test_a_call_of_an_object_that_the_function_made_is_its_work() -> None:
    def pause(so_far: list[Any]) -> Any:
        raise AssertionError("nothing here is another's work")

    assert run_of("Generator().draw() < 1", labels=("1",), name="toy.Generator", surroundings=pause)()[OWN] == {
        "1": True
    }


@pytest.mark.parametrize("source", [
    "toy.double(1 / int('0'))",
    "toy.double(value=1 / int('0'))",
    "toy.double(1) / int('0')",
    "np.float64(1 / int('0')).double()",
    "y = int('none', toy.double(1)) / 0",
    "print(toy.double(1) / int('0'))",
])  # fmt: skip
def test_an_error_beside_the_functions_call_is_not_charged_to_it(source: str) -> None:
    with pytest.raises(OtherLineError, match="statement 1 of the example failed in an expression that does not call"):
        run_of(source)()


@pytest.mark.parametrize("source", ["toy.double({})", "abs(toy.double({}))", "toy.double(toy.double({}))"])
def test_an_error_of_the_functions_call_is_charged_to_it_whatever_is_around_it(source: str) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        run_of(source)()


@pytest.mark.parametrize(("scope", "error"), [("__expression_1_1__", OtherLineError), ("<module>", ValueError)])
def test_an_operation_that_a_compiler_refuses_is_not_charged_if_an_argument_made_it(
    scope: str, error: type[Exception]
) -> None:
    origin = f'refused\nThe op is created at: \nFile "<toy.double, statement 1>", line 1, in {scope}\n'
    with pytest.raises(error, match="refused"):
        run_of("toy.double(abs(1))", f"raise ValueError({origin!r} or toy.double)")()


@pytest.mark.parametrize(("source", "names_host"), [
    ("toy.double(1).to('cpu')", True),
    ('toy.double(1, device="cpu:0")', True),
    ("toy.double(1).cpu()", True),
    ("toy.double(1).cpu", False),
    ("toy.double('cpus')", False),
])  # fmt: skip
def test_an_example_that_asks_for_the_host_says_so(source: str, names_host: bool) -> None:
    example = FrozenExample(Example("toy.double", (Statement(1, source),), ()).written(), ToyDialect())
    assert example.names_host is names_host


def test_our_own_future_statements_are_not_the_examples() -> None:
    assert frozen_run("def f(x: int): pass", "f.__annotations__['x'] is int", labels=("2",))() == {"2": True}


def test_an_example_that_turns_a_setting_does_not_hurt_the_next() -> None:
    turning_run = frozen_run("toy.set_scale(10.0)", "toy.double(1)", labels=("2",))
    plain = frozen_run("toy.double(1)", labels=("1",))
    assert [turning_run(), plain(), turning_run()] == [{"2": 20.0}, {"1": 2.0}, {"2": 20.0}]
    assert toy.scale == 1.0


def test_what_an_example_turns_is_put_back_where_it_raises(tmp_path: Any) -> None:
    here, handling = os.getcwd(), np.geterr()
    sources = (
        "import os, numpy",
        f"os.chdir({str(tmp_path)!r})",
        "os.environ['TOY'] = '1'",
        "numpy.seterr(all='raise')",
        "toy.set_scale(3.0)",
        "1 / 0",
    )
    with pytest.raises(ZeroDivisionError):
        frozen_run(*sources)()
    assert (os.getcwd(), np.geterr(), toy.scale) == (here, handling, 1.0)
    assert "TOY" not in os.environ


def test_the_device_is_forced_on_every_call() -> None:
    dialect = ToyDialect()
    context = Context(None, "there", "toy", None, lambda tree: tree)
    call = FrozenExample(Example("toy.double", (), ()).written(), dialect)(context)
    call()
    call()
    assert dialect.forced_to == ["there", "there"]


@pytest.mark.parametrize(
    ("value", "plain_value"),
    [
        (np.float32([1, 2]), {"dtype": "float32", "values": [1.0, 2.0]}),
        (np.int64(3), {"dtype": "int64", "values": 3}),
        ((1, [True, None]), [1, [True, None]]),
        ({"a": 1, 2: 3j}, {"a": 1, "2": 3j}),
    ],
)
def test_a_value_is_compared_as_plain_ones(value: Any, plain_value: Any) -> None:
    assert comparable(value, ToyDialect()) == plain_value


@pytest.mark.parametrize("value", [np.float64(1.5), np.complex128(1j)])
def test_a_number_that_is_pythons_own_too_is_of_its_type(value: Any) -> None:
    """As it is when it was written and read: a case that merely runs compares the names of types."""
    assert type(comparable(value, ToyDialect())) in (float, complex)


@pytest.mark.parametrize("value", [object(), "text", ["text"], {(1,): 2}, np.array(["a"]), {1}])
def test_what_names_a_device_or_an_address_has_no_form(value: Any) -> None:
    with pytest.raises(UnfreezableError):
        comparable(value, ToyDialect())


def test_a_value_of_another_kind_than_on_the_cpu_is_equal_to_none() -> None:
    assert frozen_run("a = object()", labels=("a",))() == {"a": "a object"}


def test_a_setting_is_written_only_where_it_was_turned() -> None:
    with kept(ToyDialect().settings()):
        toy.scale = 5.0  # type: ignore[attr-defined]
    assert toy.scale == 1.0


def test_values_may_differ_by_roundings_of_the_largest_value_of_their_array() -> None:
    expected_values = {"3": np.array([30.0, 0.34726238], np.float32), "p": np.array([0.25, 0.5], np.float32)}
    check = FrozenValues(expected_values, "float32", TOLERANCES["float32"])
    right = {"3": leaf([30.0, 0.34727612]), "p": leaf([0.25, 0.5])}
    check(right)
    with pytest.raises(Mismatch, match=r"result\['3'\]: 1 of 2 values differ"):
        check({**right, "3": leaf([30.0, 0.348])})
    # Large values under one label say nothing of another's.
    with pytest.raises(Mismatch, match=r"result\['p'\]: 1 of 2 values differ"):
        check({**right, "p": leaf([0.2501, 0.5])})


def leaf(values: list[float]) -> Leaf:
    return Leaf(np.array(values, np.float32), "float32", "cpu:0")
