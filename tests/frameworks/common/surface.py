"""Enumerates the framework of this environment in a separate process, like the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from runners import frameworks

LAUNCHER = Path(__file__).resolve().parents[3] / "runners" / "launch.py"
INTERRUPTED_AFTER_S = 600.0


def walk(framework: str) -> dict[str, Any]:
    """Return the entries by name, the final message, and the modules that could not be imported."""
    ours, theirs = os.pipe()
    variables = frameworks.variables(frameworks.load(framework), "cpu")
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(LAUNCHER), "runners.surface.child", str(theirs), framework],
        stdin=subprocess.PIPE,
        env={**os.environ, **variables, "PYTHONHASHSEED": "0"},
        pass_fds=[theirs],
    )
    os.close(theirs)
    assert process.stdin is not None
    with process.stdin as stdin:
        stdin.write(b"{}")
    with os.fdopen(ours) as pipe:
        messages = [json.loads(line) for line in pipe]
    assert process.wait(INTERRUPTED_AFTER_S) == 0
    entries = [message["entry"] for message in messages if "entry" in message]
    (end,) = [message["end"] for message in messages if "end" in message]
    failures = {message["failed"]: message["reason"] for message in messages if "failed" in message}
    return {"entries": {entry["name"]: entry for entry in entries}, "end": end, "failed": failures}


def initialised_after(framework: str, question: str) -> str:
    """Import the public modules like the enumeration does. Then evaluate an expression about the framework, and return
    its value."""
    program = (
        "from runners import frameworks\n"
        "import importlib\n"
        "from runners.surface.imports import ModuleImporter, public_modules\n"
        "from runners.surface.walk import entries\n"
        f"surface = frameworks.load({framework!r}).surface\n"
        f"root = importlib.import_module({framework!r})\n"
        "modules = public_modules(root, surface, ModuleImporter(lambda message: None, {}))\n"
        "assert len(list(entries(modules, surface))) > 1000\n"
        f"{question}"
    )
    variables = frameworks.variables(frameworks.load(framework), "cpu")
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=INTERRUPTED_AFTER_S,
        check=True,
    )
    return answer.stdout.split()[-1]
