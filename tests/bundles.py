"""Bundles for tests: made by the real command line, and changed byte by byte."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from coordinator.bundles.signature import NAMESPACE
from tests.fork_server import RUNNER_SERVER, call
from tests.runner_process import environment
from tests.waiting import LIMIT_S

FUNCTIONS = ("hazards.add", "hazards.fail", "hazards.gone", "hazards.segfault")
RUNS = 2
HEADERS = {"Content-Type": "application/x-ndjson"}
"""In bytes, the limit of an upload."""
UPLOAD = "/bundles?unsigned=true"
"""The path of an upload without a signature."""


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
    """A bundle with this header, these outcomes, and a matching last line."""
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    end = {"type": "end", "outcomes": len(lines) - 1, "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(end).encode() + b"\n"


def lines_of(bundle: bytes) -> list[dict[str, Any]]:
    """The header and the outcomes, without the last line."""
    return [json.loads(line) for line in bundle.splitlines()[:-1]]


def make_key(folder: Path, name: str, kind: str = "ed25519") -> Path:
    """Create a key pair. Returns the private key; the public key is in the same folder."""
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(key)], check=True)
    return key


def sign(bundle: Path, key: Path, namespace: str = NAMESPACE) -> None:
    """Write the signature next to the bundle."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", str(key), str(bundle)]
    subprocess.run(command, check=True, capture_output=True)


def as_torch(out: Path, hazards: dict[str, str]) -> Path:
    """Outcomes of hazards, renamed to functions of torch with four cases each, as if they came from torch/xla."""
    header, *outcomes = lines_of(make(out, runs=1).read_bytes())
    by_case = {line["case"]: line for line in outcomes}
    # One of the hazards that add gives a wrong result on purpose.
    cases = {
        case["function"]: case
        for case in header["suite"]["cases"]
        if case["function"] != "hazards.add" or by_case[case["id"]]["outcome"]["verdict"] == "passed"
    }
    header["runner"].update(framework="torch", version="2.9.0", device="xla", device_class="cpu", simulated=False)
    header["suite"]["cases"], lines = [], []
    for function, hazard in hazards.items():
        for number in range(4):
            case = {**cases[hazard], "id": f"{function}/{number}", "function": function}
            header["suite"]["cases"].append(case)
            lines.append({**by_case[cases[hazard]["id"]], "case": case["id"]})
    header["functions"] = list(hazards)
    out.write_bytes(sealed([header, *lines]))
    return out
