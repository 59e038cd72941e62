"""The operators of the mutation score affect the calls that they should affect, and suitable cases detect them."""

from __future__ import annotations

from tests.frameworks.common.score import trials

ON_VALUES = {"a value off", "a value of another dtype", "last element off", "wrong stride", "negatives lost"}


def test_operators_come_to_bear_and_are_noticed() -> None:
    of_framework = trials("jax")
    (case,) = [case for case in of_framework.cases if case.id == "jax.numpy.fliplr/int32"]
    noticed_by_operator = dict(of_framework.of(case))
    assert noticed_by_operator.keys() >= ON_VALUES
    assert all(noticed_by_operator[operator] for operator in ON_VALUES)


def test_a_gradient_counts_only_where_one_is_taken() -> None:
    of_framework = trials("jax")
    by_id = {case.id: case for case in of_framework.cases}
    assert {"gradient off", "detached"} <= dict(of_framework.of(by_id["jax.scipy.special.ndtr/gradient"])).keys()
    assert not {"gradient off", "detached"} & dict(of_framework.of(by_id["jax.numpy.fliplr/int32"])).keys()


def test_a_keyword_counts_as_ignored_only_where_it_decides() -> None:
    of_framework = trials("jax")
    by_id = {case.id: case for case in of_framework.cases}
    assert dict(of_framework.of(by_id["jax.numpy.stack/float16"]))["ignored keyword"]
