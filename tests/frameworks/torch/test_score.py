"""The operators of the mutation score affect the calls that they should affect, and suitable cases detect them."""

from __future__ import annotations

from tests.frameworks.common.score import trials

ON_VALUES = {"a value off", "a value of another dtype", "last element off", "wrong stride", "negatives lost"}


def test_operators_come_to_bear_and_are_noticed() -> None:
    of_framework = trials("torch")
    (case,) = [case for case in of_framework.cases if case.id == "torch.triangular_solve/gradient"]
    noticed_by_operator = dict(of_framework.of(case))
    assert noticed_by_operator.keys() >= ON_VALUES
    assert all(noticed_by_operator[operator] for operator in ON_VALUES)


def test_a_gradient_counts_only_where_one_is_taken() -> None:
    of_framework = trials("torch")
    by_id = {case.id: case for case in of_framework.cases}
    assert {"gradient off", "detached"} <= dict(
        of_framework.of(by_id["torch.Tensor.to/gradient-comes-back-in-its-own-dtype"])
    ).keys()
    assert not {"gradient off", "detached"} & dict(of_framework.of(by_id["torch.triangular_solve/gradient"])).keys()


def test_a_keyword_counts_as_ignored_only_where_it_decides() -> None:
    of_framework = trials("torch")
    by_id = {case.id: case for case in of_framework.cases}
    assert dict(of_framework.of(by_id["torch.nn.functional.batch_norm/constant-channel-becomes-its-shift"]))[
        "ignored keyword"
    ]
