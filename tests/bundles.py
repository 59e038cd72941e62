"""Bundles for tests: made by the real command line, and changed byte by byte."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.fork_server import RUNNER_SERVER, call
from tests.runner_process import environment
from tests.waiting import LIMIT_S

FUNCTIONS = ("hazards.add", "hazards.fail", "hazards.gone", "hazards.segfault")
RUNS = 2
HEADERS = {"Content-Type": "application/x-ndjson"}
"""Of an upload."""


def command(out: Path, *options: str, functions: tuple[str, ...] = FUNCTIONS, runs: int = RUNS) -> list[str]:
    return [
        *(sys.executable, "-m", "runners", "run", "hazards", "cpu", "--suite", "hazards", "--timing", "off"),
        *("--runs", str(runs), "--out", str(out), "--functions", *functions, *options),
    ]


def run(out: Path, *options: str, **chosen: Any) -> subprocess.CompletedProcess[str]:
    return call(RUNNER_SERVER, command(out, *options, **chosen), environment(), "", LIMIT_S)


def make(out: Path, *options: str, **chosen: Any) -> Path:
    done = run(out, *options, **chosen)
    assert done.returncode == 0, done.stderr
    return out


def sealed(lines: list[dict[str, Any]]) -> bytes:
    """A bundle of this header and these outcomes, with an end that fits them."""
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    end = {"type": "end", "outcomes": len(lines) - 1, "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(end).encode() + b"\n"


def lines_of(bundle: bytes) -> list[dict[str, Any]]:
    """Header and outcomes, without the end."""
    return [json.loads(line) for line in bundle.splitlines()[:-1]]
