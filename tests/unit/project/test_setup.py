"""The messages of ``make setup`` if it cannot do its work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "scripts" / "setup.py"


def test_a_user_without_a_home_is_told_what_helps(tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if "CACHE" not in name}
    process = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "stamp"],
        env={**variables, "HOME": str(tmp_path / "nobody")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    (line,) = process.stderr.splitlines()
    assert line.startswith(f"set-up keeps packages in {tmp_path}/nobody/.cache, which is not writable: ")
    assert line.endswith("such as XDG_CACHE_HOME=/var/tmp/cache make setup")
