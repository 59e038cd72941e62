"""``runners/torch`` has torch's name, and must never be taken for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch

import runners.torch

ROOT = Path(runners.torch.__file__).resolve().parents[2]


def test_torch_is_the_wheel() -> None:
    assert "site-packages" in Path(torch.__file__).parts
    assert ROOT not in Path(torch.__file__).resolve().parents


def test_a_framework_says_what_it_has_before_torch_is_imported() -> None:
    code = "import sys, runners.torch as t; print(sorted(t.DEVICES), 'torch' in sys.modules)"
    seen = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert seen.stdout.strip() == "['cpu', 'cuda', 'xla'] False"
