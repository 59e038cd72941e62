"""Names of targets: those for which a runner can be started, and misspelled names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runners.cli import environments
from runners.cli.targets import require_targets, target_names
from runners.errors import UnknownFrameworkError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache folder, so that environments on this machine do not count."""
    monkeypatch.setenv("PORTOLAN_CACHE", str(tmp_path))


def test_our_targets_have_names_and_those_that_nobody_serves_have_none() -> None:
    names = target_names()
    assert {"torch/cpu", "torch/xla", "tensorflow/xla", "jax/cpu"} <= set(names)
    assert "torch/mps" not in names
    require_targets(names)


def test_a_device_of_a_package_in_an_environment_has_a_name() -> None:
    environment = environments.path("torch", "", ["npu==1"])
    environment.mkdir(parents=True)
    mark = {"plain": environments.key("torch"), "brought": ["torch.npu"]}
    (environment / environments.COMPLETE).write_text(json.dumps(mark))
    assert "torch/npu" in target_names()
    require_targets(["torch/npu"])


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("torch/xlaa", "torch/xlaa: framework 'torch' has no device 'xlaa'; did you mean xla? it has cpu, "),
        ("tourch/xla", "tourch/xla: there is no framework 'tourch'; did you mean 'torch'?"),
        ("torch/mps", "torch/mps: torch/mps cannot be served here: "),
        ("torch", "torch: framework 'torch' has no device ''; it has cpu, "),
    ],
)
def test_a_misspelt_target_is_told_with_what_there_is(target: str, complaint: str) -> None:
    with pytest.raises(UnknownFrameworkError) as excinfo:
        require_targets(["torch/cpu", target])
    assert str(excinfo.value).startswith(complaint)
