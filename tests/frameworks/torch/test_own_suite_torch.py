"""A user's own suite for PyTorch: the example of the how-to, on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.enums import Verdict
from runners import own_suites
from runners.torch import FRAMEWORK
from runners.torch.devices import Cpu
from tests.frameworks.common.running import run

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "team-layers"
CPU = Cpu()


def test_the_cases_of_the_example_pass_and_notice_a_wrong_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    suite = own_suites.load(FRAMEWORK, [str(EXAMPLE / "team_suite")])["team_suite"]
    assert len(suite.cases) == 7
    assert {run(CPU, case).verdict for case in suite.cases} == {Verdict.passed}

    import team_layers

    right = team_layers.RMSNorm.forward
    monkeypatch.setattr(team_layers.RMSNorm, "forward", lambda layer, rows: 1.05 * right(layer, rows))
    of_layer = [case for case in suite.cases if case.function == "team_layers.RMSNorm"]
    failing_ids = {case.id for case in of_layer if run(CPU, case).verdict is Verdict.failed}
    # Of nothing but zeros 5 % more is the same.
    assert failing_ids == {case.id for case in of_layer} - {"team_layers.RMSNorm/a-row-of-zeros"}
