"""A machine without a coordinator is charted with the real PyTorch, and its bundle is imported by a coordinator.

The environment is the one that ``portolan-runner setup torch`` made; ``make test`` calls this command first.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from protocol.bundle import MAX_BYTES
from tests import bundles
from tests.portolan_process import Portolan
from tests.runner_process import environment

FUNCTIONS = ("torch.lt", "torch.diag", "torch.cuda.synchronize")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle, made before any coordinator exists."""
    out = tmp_path_factory.mktemp("island") / "torch-cpu.bundle"
    process = subprocess.run(
        [
            *(sys.executable, "-m", "runners", "run", "torch", "cpu", "--suite", "paper", "--runs", "2"),
            *("--functions", *FUNCTIONS, "--timing", "paper", "--timeout-s", "60", "--out", str(out)),
        ],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert f"complete: {out}" in process.stderr
    return out


@pytest.fixture
def portolan(directory: Path) -> Iterator[Portolan]:
    """A coordinator without runners."""
    portolan = Portolan(directory.parent)
    up = portolan.up("--targets", "", "--port", "0")
    yield portolan
    assert up.stop() == 0, up.said


@pytest.mark.level(2)
def test_a_bundle_is_imported_and_shown_like_any_campaign(portolan: Portolan, bundle: Path, tmp_path: Path) -> None:
    header, *lines = bundles.lines_of(bundle.read_bytes())
    with ThreadPoolExecutor() as several:
        outputs = list(
            several.map(lambda _: portolan.ask("import", "--unsigned", str(bundle), "--name", "the island"), range(3))
        )
    summary = f"campaign 1: {len(lines)} outcomes of torch@{header['runner']['version']}/cpu on "
    assert sum(line.startswith(summary) for line in outputs) == 1
    assert sum("this bundle is already stored" in line for line in outputs) == 2
    assert portolan.ask("import", "--unsigned", str(bundle)).startswith("campaign 1: this bundle is already stored")

    (campaign,) = json.loads(portolan.ask("status", "--json"))
    assert (campaign["name"], campaign["state"], campaign["counters"]["done"]) == ("the island", "done", len(lines))
    assert "imported " in portolan.ask("status", "1")
    assert json.loads(portolan.ask("runner", "list", "--json")) == []
    output = portolan.ask("results", "1")
    assert "2 of 2 functions pass every case" in output
    assert (
        "1 function needs another device than this target and is excluded from the rates: torch.cuda.synchronize."
        in output
    )
    assert "portolan-runner run torch cpu torch.cuda.synchronize" in output
    rows = json.loads(portolan.ask("results", "1", "--format", "json"))
    assert [(row["case"], row["run"], row["verdict"]) for row in rows] == [
        (line["case"], line["run"], line["outcome"]["verdict"]) for line in lines
    ]
    assert {row["hardware"] for row in rows} == {header["runner"]["fingerprint"]["hardware"]}
    assert all(row["cold_ms"] > 0 for row in rows if row["verdict"] == "passed" and row["placement"] == "on_device")

    whole = bundle.read_bytes()
    for content, words in (
        (whole[:-400], "cut off in line"),
        (whole.replace(b'"passed"', b'"failed"', 1), "checksum of the bundle does not match"),
        (b"hello\n", "the file is not a bundle"),
    ):
        bad = tmp_path / "bad"
        bad.write_bytes(content)
        assert words in portolan.refused("import", "--unsigned", str(bad))
    with bad.open("wb") as sparse:
        sparse.truncate(MAX_BYTES + 1)
    assert "larger than the limit of 1,024 MiB" in portolan.refused("import", "--unsigned", str(bad))
    assert "there is no file" in portolan.refused("import", str(tmp_path / "absent"))
    assert len(json.loads(portolan.ask("status", "--json"))) == 1


def test_a_bundle_that_is_there_is_not_overwritten(bundle: Path) -> None:
    before = bundle.read_bytes()
    process = bundles.run(bundle)
    assert (process.returncode, process.stdout) == (2, "")
    assert (
        process.stderr == f"portolan-runner: {bundle} exists already and is never overwritten: choose another --out\n"
    )
    assert bundle.read_bytes() == before
