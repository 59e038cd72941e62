"""``portolan catalogue`` in real processes, from a corpus to counts, a sample and coverage. Wrong input is rejected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.portolan_process import Portolan

SOURCE = (
    "import torch\nimport torch.nn.functional as F\nF.relu(torch.add(x, y))\ntorch.add(1, 2)\ntorch.zeros(3).view(3)\n"
)


@pytest.fixture
def portolan(tmp_path: Path) -> Portolan:
    return Portolan(tmp_path / "data")


def test_a_corpus_becomes_counts_a_sample_and_coverage(portolan: Portolan, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.py").write_text(SOURCE)
    counts = tmp_path / "counts.json"
    process = portolan.call("catalogue", "count", str(tmp_path / "corpus"), "--out", str(counts))
    assert (process.returncode, process.stdout) == (0, "")
    assert "1 file: 1 counted" in process.stderr
    assert json.loads(counts.read_text())["frameworks"]["torch"]["names"]["torch.add"]["resolved"] == 2
    sample_text = portolan.ask(
        "catalogue", "sample", "torch@2.9.0", "--counts", str(counts), "--top", "1", "--per-decile", "0"
    )
    assert sample_text == "torch.add\n"
    (tmp_path / "functions").write_text(sample_text)
    options = ("--functions", str(tmp_path / "functions"), "--counts", str(counts), "--json")
    (row,) = json.loads(portolan.ask("catalogue", "coverage", "torch@2.9.0", *options))
    assert row["uses"] == {"charted": 2, "of": 5, "twins": 0}
    assert row["functions"]["charted"] == 1


def test_two_releases_are_compared(portolan: Portolan) -> None:
    comparison = json.loads(portolan.ask("catalogue", "compare", "torch@2.9.0", "torch@2.15.0", "--json"))
    assert "torch.Tensor.align_as" in comparison["removed"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("enumerate", "torhc"), "did you mean 'torch'?"),
        (("enumerate", "jax", "--python", "/none"), "--python /none is not a program here"),
        (("compare", "torch@2.9.0", "jax@0.10.2"), "are releases of two frameworks"),
        (("compare", "torch@1.0", "torch@2.9.0"), "torch@1.0: no such file or directory"),
        (("count", "/none"), "does not exist"),
        (("count", "/dev/null"), "is not a corpus"),
        (("sample", "torch@2.9.0", "--counts", "/dev/null"), "is not a file of usage counts"),
        (("sample", "torch@2.9.0", "--replace", "torch.add"), "write NAME=REASON"),
        (("sample", "torch@2.9.0", "--replace", "torch.none=gone"), "is not in the population"),
        (("coverage", "torch@2.9.0", "--functions", "/none"), "no such file"),
    ],
)
def test_bad_input_is_one_line(portolan: Portolan, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in portolan.refused("catalogue", *arguments)
