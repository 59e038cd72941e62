"""For unknown functions in a user's code: the live runner's suite that tests each, and the name under which it does."""

from __future__ import annotations

import pytest

from coordinator.catalogue.models import CatalogueFunction, SuiteList, SuiteOnTargets
from coordinator.cli.unknown_functions import functions_by_suite
from coordinator.errors import AssessmentError
from coordinator.targets.selectors import Selector

XLA = Selector.parse("torch/xla")


def suite(name: str, *functions: str, target: str = "torch@2.9.0/xla") -> SuiteOnTargets:
    catalogue_functions = [CatalogueFunction(function=function, cases=1, host_only=None) for function in functions]
    return SuiteOnTargets(
        suite_id=1, suite=name, framework="torch", revision="r", targets=[target], functions=catalogue_functions
    )


def test_a_function_is_charted_by_the_first_suite_that_has_it() -> None:
    catalogue = SuiteList(
        suites=[
            suite("docs", "torch.add", "torch.renorm"),
            suite("library", "torch.add", "torch.topk"),
            suite("conformance", "torch.kron"),
            suite("own", "torch.diff", target="torch@2.9.0/cpu"),
        ]
    )
    unknown = ["torch.renorm", "torch.add", "torch.kron", "torch.diff"]
    assert functions_by_suite(unknown, XLA, catalogue) == {"docs": ["torch.renorm"], "library": ["torch.add"]}


def test_a_method_is_charted_by_the_function_that_does_the_same() -> None:
    catalogue = SuiteList(suites=[suite("library", "torch.topk")])
    assert functions_by_suite(["torch.Tensor.topk", "torch.topk"], XLA, catalogue) == {"library": ["torch.topk"]}


def test_without_a_live_runner_of_the_target_it_says_how_to_start_one() -> None:
    catalogue = SuiteList(suites=[suite("library", "torch.add", target="torch@2.9.0/cpu")])
    with pytest.raises(
        AssessmentError, match=r"no online runner matches torch/xla .*online: torch@2\.9\.0/cpu.*portolan up"
    ):
        functions_by_suite(["torch.add"], XLA, catalogue)
