"""A drawing does not depend on the seed of Python's hashes: a freezer starts itself anew with a fixed one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from freezing.common.restart import fix_hashes

fix_hashes("program", sys.argv[1:])
print(hash("depth"), sys.argv[1:])
"""


def test_two_seeds_give_the_same_hashes_and_arguments(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    root = Path(__file__).resolve().parents[4]
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "program", "folder"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "random")
    }
    assert len(outputs) == 1
    assert outputs.pop().endswith("['folder']\n")
