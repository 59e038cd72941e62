"""A function's page: the number of cases by ending, their options and messages, and what was not tested."""

from __future__ import annotations

from dataclasses import replace

from coordinator.atlas.function_view import FailureMessage, FunctionView, function_views
from coordinator.atlas.overview import Atlas
from coordinator.results.involvement import Met
from protocol.enums import Ending
from tests.unit.coordinator.assess.cases import FUNCTION, case, several, target
from tests.unit.coordinator.atlas.evidence import atlas, charted_target


def view(of_atlas: Atlas, name: str) -> FunctionView:
    (framework,) = of_atlas.frameworks
    return next(view for view in function_views(framework) if view.name == name)


def test_a_function_is_told_with_the_options_on_which_it_fails() -> None:
    cases = [*several(3, "half", "failed", dtype="float16"), *several(4, "single")]
    (on_xla,) = view(atlas(target({FUNCTION: cases})), FUNCTION).targets
    assert on_xla.words == "3 of 7 cases fail"
    assert on_xla.conditions == ("fails in float16 (3 of 3), not otherwise (0 of 4)",)
    assert [(row.dtype, row.total, row.on_device, row.failed) for row in on_xla.dtypes] == [
        ("float16", 3, 0, 3),
        ("float32", 4, 4, 0),
    ]


def test_failures_with_one_message_are_told_once_with_a_command_that_repeats_one() -> None:
    cases = [case("a", "failed"), case("b", "failed"), case("c")]
    (on_xla,) = view(atlas(target({FUNCTION: cases})), FUNCTION).targets
    assert on_xla.messages == (
        FailureMessage("a said so", ("not_implemented",), 1, f"portolan-runner run torch xla {FUNCTION}/a"),
        FailureMessage("b said so", ("not_implemented",), 1, f"portolan-runner run torch xla {FUNCTION}/b"),
    )


def test_a_case_that_falls_back_has_a_command_that_repeats_it() -> None:
    cases = [case("a"), case("b", "fell_back"), case("c", "fell_back")]
    of_atlas = atlas(target({FUNCTION: cases, "torch.others": [case("d", "failed")]}))
    commands = [view(of_atlas, name).targets[0].repeat_fallback for name in (FUNCTION, "torch.others")]
    assert commands == [f"portolan-runner run torch xla {FUNCTION}/b", None]


def test_an_operation_is_named_once_with_all_kinds_of_its_involvement() -> None:
    cases = [
        replace(case("a", "failed"), operations=("aten::sort",)),
        replace(case("b", "failed", ending=Ending.mismatched), operations=("aten::sort", "aten::isin")),
        replace(case("c", "failed"), operations=("aten::sort",)),
    ]
    of_atlas = atlas(target({FUNCTION: cases}))
    ways = view(of_atlas, FUNCTION).targets[0].ways_by_operation
    assert [[(one.operation, one.met, one.cases) for one in of_operation] for of_operation in ways] == [
        [("aten::sort", Met.failed, 2), ("aten::sort", Met.diverged, 1)],
        [("aten::isin", Met.diverged, 1)],
    ]


def test_a_target_without_evidence_of_the_function_is_named() -> None:
    two_targets = atlas(
        charted_target({"torch.a": ["passed"], "torch.b": ["passed"]}),
        charted_target({"torch.b": ["passed"]}, device="cuda"),
    )
    assert view(two_targets, "torch.a").missing == ("torch@2.9.0/cuda",)
    assert view(two_targets, "torch.b").missing == ()


def test_a_function_has_its_neighbours_by_name_and_its_rank_by_use() -> None:
    ranked_atlas = atlas(
        charted_target({name: ["passed"] for name in ("torch.a", "torch.b", "torch.c")}),
        uses={"torch.b": 5, "torch.c": 9},
    )
    of_b = view(ranked_atlas, "torch.b")
    assert (of_b.before, of_b.after, of_b.uses, of_b.rank, of_b.functions) == ("torch.a", "torch.c", 5, 2, 3)
    assert view(ranked_atlas, "torch.a").before is None
    assert view(ranked_atlas, "torch.c").after is None


def test_an_older_version_is_in_the_data_and_the_newest_stands_for_the_device() -> None:
    function_view = view(
        atlas(charted_target({"torch.a": ["failed"]}, "2.8.0"), charted_target({"torch.a": ["passed"]}, "2.9.0")),
        "torch.a",
    )
    assert [one.column.evidence.version for one in function_view.targets] == ["2.9.0", "2.8.0"]
    assert [one.column.evidence.version for one in function_view.newest] == ["2.9.0"]
    (line,) = function_view.lines
    assert line.since == "works since 2.9.0 as charted; fails in 2.8.0, and no version between them was charted"
