"""Flow: which values a call reaches, by syntax alone."""

from __future__ import annotations

import ast
import math

import pytest

from freezing.common.flow import asks_for_cpu, find_reached, find_touched, last_names, places_that_use
from runners.suite.examples import Statement
from runners.suite.reseeding import Reseeded


def statements(*sources: str) -> list[Statement]:
    return [Statement(place, source) for place, source in enumerate(sources, 1)]


def test_what_is_computed_of_a_value_is_reached() -> None:
    example_statements = statements("a = one()", "b = f(a)", "c = 2", "b + c", "c")
    assert find_reached(example_statements, {2}, set()) == {"2", "b", "4"}


def test_a_name_that_is_bound_anew_is_not_reached_any_more() -> None:
    assert find_reached(statements("a = f()", "a = 2", "a"), {1}, set()) == {"1"}


def test_a_call_without_a_value_changes_what_it_is_called_with() -> None:
    example_statements = statements("w = zeros()", "init(w)", "w")
    assert find_reached(example_statements, {2}, labels_with_value=set()) == {"2", "w", "3"}
    assert find_reached(example_statements, {2}, labels_with_value={"2"}) == {"2"}
    assert find_touched(example_statements, {2}) == {"2", "w", "3"}


def test_a_package_is_no_variable_that_a_call_changes() -> None:
    assert find_touched(statements("import toy", "toy.fill()", "toy.other()"), {2}) == {"2"}


def test_the_names_that_a_statement_reads() -> None:
    assert set(last_names(Statement(1, "a = torch.linalg.eigh(m)[0]"))) == {"torch", "linalg", "eigh", "m"}


def test_a_function_is_used_by_any_of_its_names_and_a_member_by_its_own() -> None:
    example_statements = statements("math.sqrt(4)", "root(4)", "[].append(1)", "math.pi")
    names = {"math": math, "root": math.sqrt}
    assert places_that_use(example_statements, math.sqrt, None, names) == [1, 2]
    assert places_that_use(example_statements, object(), "append", names) == [3]


@pytest.mark.parametrize(
    ("source", "reseeded_source"),
    [
        ("torch.manual_seed(0)", "torch.manual_seed(1000)"),
        ("tf.random.uniform([2], seed=(1, 2))", "tf.random.uniform([2], seed=(1001, 1002))"),
        ("Generator().manual_seed(7).draw(3)", "Generator().manual_seed(1007).draw(3)"),
        ("np.random.seed(0)", "np.random.seed(0)"),
        ("random.seed(0)", "random.seed(0)"),
        ("uniform([2])", "uniform([2])"),
    ],
)
def test_seeds_of_the_framework_are_moved(source: str, reseeded_source: str) -> None:
    assert ast.unparse(Reseeded(1).visit(ast.parse(source))) == reseeded_source


@pytest.mark.parametrize(
    "source", ["f(device='cpu')", "x.to(toy.device('cpu:0'))", "with toy.device('/CPU:0'):\n    f()"]
)
def test_an_example_that_names_the_cpu_asks_for_it(source: str) -> None:
    assert asks_for_cpu(statements("x = f()", source))


@pytest.mark.parametrize("source", ["f(device='toy')", "f('cpu_count')", "x.cpu().numpy()", "name = 'cpu'"])
def test_other_examples_do_not_ask_for_the_cpu(source: str) -> None:
    assert not asks_for_cpu(statements("x = f()", source))
