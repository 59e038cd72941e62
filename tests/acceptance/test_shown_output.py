"""The output in the README and in the how-to for a machine without a network is the real output of the commands."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from runners.cli.charting import progress_line
from tests import bundles
from tests.coordinator_process import CoordinatorProcess
from tests.how_to import Step, is_shown
from tests.portolan_process import COMMAND, Portolan
from tests.runner_process import environment
from tests.waiting import LIMIT_S

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
WITHOUT_A_NETWORK = (ROOT / "docs/how-to/chart-a-machine-without-a-network.md").read_text()
IMPORT_LINE = re.compile(r"^campaign [\d,]+: [\d,]+ outcomes of \S+@\S+/\S+ on [^,\n]+, signed by (\S+)$", re.MULTILINE)
"""The line of an imported bundle, which has other numbers and another machine in each run."""
CODE = """\
import torch
import torch.nn.functional as F


def labels_of(batch):
    return torch.unique(batch["labels"])


def size_of(batch):
    return len(batch["images"])


def enlarge(batch):
    images = batch["images"]
    return F.interpolate(images, scale_factor=2, mode="bicubic", align_corners=False)
"""


@pytest.fixture
def step() -> Step:
    """The first command of the README, and the output below it."""
    block = re.search(r"^\.venv/bin/portolan (assess .+)\n```\n\n```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert block is not None
    return Step("Portolan", block[1], tuple(line for line in block[2].splitlines() if line != "…"))


def test_the_answer_about_a_program_is_as_shown(step: Step, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE)
    process = subprocess.run(
        [*COMMAND, *step.commands.split()],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert process.stderr == ""
    assert is_shown(step, process.stdout), process.stdout


def test_an_import_is_answered_as_shown(coordinator: CoordinatorProcess, tmp_path: Path) -> None:
    bundle = bundles.make(tmp_path / "hazards.bundle", functions=("hazards.add",), runs=1)
    key = bundles.make_key(tmp_path, "id_ed25519")
    bundles.sign(bundle, key)
    shown_line = IMPORT_LINE.search(WITHOUT_A_NETWORK)
    assert shown_line is not None
    signer = shown_line[1]
    assert f"portolan signer add {signer} id_ed25519.pub" in WITHOUT_A_NETWORK
    portolan = Portolan(tmp_path / "data", PORTOLAN_URL=coordinator.url)
    portolan.ask("signer", "add", signer, str(key.with_suffix(".pub")))
    imported_line = IMPORT_LINE.search(portolan.ask("import", str(bundle)))
    assert imported_line is not None
    assert imported_line[1] == signer


def test_progress_is_as_shown() -> None:
    assert f"\n{progress_line(120, 2_811, 4, 0, 120 / 2.3)}\n" in WITHOUT_A_NETWORK
