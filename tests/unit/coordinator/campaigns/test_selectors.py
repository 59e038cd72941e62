"""Selectors and plans: the jobs that a submission creates."""

from __future__ import annotations

import pytest

from coordinator.campaigns.plan import PlannedCase, SuiteOffer, check_suite, make_plan
from coordinator.errors import RequestError, UnknownNameError
from coordinator.targets.selectors import Selector, TargetName, select_functions, select_targets

CPU = TargetName(1, "torch", "2.9.0", "cpu")
XLA = TargetName(2, "torch", "2.9.0", "xla")
NEXT = TargetName(3, "torch", "2.13.0", "cpu")
JAX = TargetName(4, "jax", "0.10.2", "cpu")
LIVE = [CPU, XLA, NEXT, JAX]


@pytest.mark.parametrize(
    ("selector", "expected_targets"),
    [
        ("torch/cpu", [CPU, NEXT]),
        ("torch@2.9/*", [CPU, XLA]),
        ("torch@2/cpu", [CPU, NEXT]),
        ("torch@2.1/cpu", None),
        ("*/cpu", [CPU, NEXT, JAX]),
        ("*/*", LIVE),
        ("torch@2.13.0/cpu", [NEXT]),
    ],
)
def test_a_selector_matches_by_framework_version_and_device(
    selector: str, expected_targets: list[TargetName] | None
) -> None:
    if expected_targets is None:
        with pytest.raises(UnknownNameError, match=r"'torch@2.1/cpu' matches no live runner"):
            select_targets([selector], LIVE)
    else:
        assert select_targets([selector], LIVE) == expected_targets


@pytest.mark.parametrize("text", ["torch", "", "torch/", "/cpu", "torch@/cpu", "torch cpu", "torch/cpu/0"])
def test_another_shape_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UnknownNameError, match=r"such as torch/cpu"):
        Selector.parse(text)


def test_targets_named_twice_take_part_once() -> None:
    assert select_targets(["torch/cpu", "*/*"], [CPU, XLA]) == [CPU, XLA]


def test_where_nothing_is_live_it_is_said_what_is_away_and_why() -> None:
    away = ["torch@2.9.0/cpu: http://runner is quarantined: it restarted twice", *["runner 2, …"] * 9]
    with pytest.raises(
        UnknownNameError, match=r"live: none; torch@2\.9\.0/cpu: http://runner is quarantined: it restarted"
    ):
        select_targets(["torch/cpu"], [], away)
    with pytest.raises(UnknownNameError, match=r"live: none\); register a runner"):
        select_targets(["torch/cpu"], [])


def test_an_unknown_function_is_refused_with_close_names() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean torch.argsort"):
        select_functions(["torch.argsrt"], ["torch.argsort", "torch.cat"])


def test_of_a_list_the_known_functions_are_chosen_and_all_unknown_ones_named() -> None:
    selection = select_functions(["torch.c*", "torch.x", "tf.*", "torch.x", "torch.sum"], ["torch.cat", "torch.sum"])
    assert selection.functions == {"torch.cat", "torch.sum"}
    assert selection.unknown == ("torch.x", "tf.*")


@pytest.mark.parametrize(("count", "last"), [(5, r"none matches 'x4'$"), (1000, r"and 950 more match none$")])
def test_a_list_without_a_known_function_is_refused_and_names_them(count: int, last: str) -> None:
    with pytest.raises(UnknownNameError, match=last) as excinfo:
        select_functions([f"x{number}" for number in range(count)], ["torch.cat"])
    assert "no function matches 'x0'" in str(excinfo.value)


def cases(*functions: str) -> list[PlannedCase]:
    return [PlannedCase(number, f"{name}/x", name) for number, name in enumerate(functions, start=1)]


def test_a_plan_crosses_cases_targets_and_runs() -> None:
    offers = [SuiteOffer(CPU, 7, cases("torch.cat", "torch.sum")), SuiteOffer(XLA, 7, cases("torch.cat", "torch.sum"))]
    plan = make_plan("paper", offers, [CPU, XLA], ["torch.*", "torch.x"], runs=3)
    assert plan.jobs == 2 * 2 * 3
    assert plan.functions == {"torch.cat", "torch.sum"}
    assert plan.not_charted == ("torch.x",)


def test_a_rerun_plans_only_what_was_left_over() -> None:
    offers = [SuiteOffer(CPU, 7, cases("torch.cat", "torch.sum")), SuiteOffer(XLA, 7, cases("torch.cat", "torch.sum"))]
    plan = make_plan("paper", offers, [CPU, XLA], ["*"], runs=1, only={XLA.id: frozenset({2})})
    assert [(target.target, target.case_ids) for target in plan.targets] == [(XLA, (2,))]


def test_a_plan_without_jobs_is_refused() -> None:
    with pytest.raises(RequestError, match="nothing to run"):
        make_plan("paper", [SuiteOffer(CPU, 7, cases("torch.cat"))], [CPU], ["*"], runs=1, only={})


def test_a_target_that_does_not_offer_the_suite_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"torch@2.9.0/xla offers the suite 'paper'"):
        make_plan("paper", [SuiteOffer(CPU, 7, cases("torch.cat"))], [CPU, XLA], ["*"], runs=1)


def test_an_unknown_suite_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"no suite 'papr'; did you mean paper\?"):
        check_suite("papr", ["paper"])
