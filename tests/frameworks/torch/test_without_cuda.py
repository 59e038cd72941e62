"""Torch without CUDA's packages: everything that needs no NVIDIA device works as if the packages were installed.

Programs run in separate processes, like a user's programs, because their output on stderr is checked.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runners.isolation.installation import STAND_IN
from runners.torch.stubs.shared_object import CALLED

QUIET = """
assert not torch.cuda.is_available() and torch.cuda.device_count() == 0

torch.manual_seed(3); torch.cuda.manual_seed_all(3)

assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)).tolist() == [2, 2]

assert [batch.tolist() for batch in torch.utils.data.DataLoader(range(4), 2, num_workers=2)] == [[0, 1], [2, 3]]

file = io.BytesIO(); torch.save(torch.ones(2), file); file.seek(0)
assert torch.load(file).tolist() == [1, 1]

assert torch.linalg.svdvals(torch.eye(3)).tolist() == [1, 1, 1]
"""
"""Programs without output on stderr, separated by empty lines."""
SAYING_SOMETHING = """
torch.distributed.init_process_group("gloo", init_method=f"file://{sys.argv[1]}/gloo", rank=0, world_size=1)
ones = torch.ones(2); torch.distributed.all_reduce(ones)
assert ones.tolist() == [1, 1]
torch.distributed.destroy_process_group()

with torch.profiler.profile() as profile:
    torch.ones(3) + 1
assert any(event.key == "aten::add" for event in profile.key_averages())

import torch._dynamo, torch._inductor.compile_fx

try:
    torch.zeros(2, device="cuda")
except RuntimeError as error:
    assert "NVIDIA driver" in str(error), error
else:
    raise AssertionError("there is a device")
"""
"""Programs that print on stderr also if CUDA's packages are installed and no driver is."""
PROGRAM_LIMIT_S = 240.0

pytestmark = pytest.mark.skipif(
    not Path(sys.prefix, STAND_IN).exists(), reason="this environment has CUDA's packages, or a build that needs none"
)


def run(programs: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", f"import io, sys, torch\n{programs}", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_LIMIT_S,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LD_LIBRARY_PATH": str(_other_cuda(tmp_path))},
    )


def _other_cuda(tmp_path: Path) -> Path:
    """A folder on the loader's path with CUDA libraries. If torch loaded one of them, it would break."""
    folder = tmp_path / "cuda"
    folder.mkdir()
    for soname in ("libcudart.so.12", "libcublas.so.12", "libcudnn.so.9"):
        (folder / soname).write_text("no library")
    return folder


def test_what_needs_no_cuda_works_and_is_quiet(tmp_path: Path) -> None:
    answer = run(QUIET, tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_what_looks_for_cuda_works_as_without_a_driver(tmp_path: Path) -> None:
    answer = run(SAYING_SOMETHING, tmp_path)
    assert answer.returncode == 0, answer.stderr


def test_what_reaches_cuda_after_all_ends_and_names_it(tmp_path: Path) -> None:
    answer = run("torch.backends.cudnn.version()", tmp_path)
    assert answer.returncode == CALLED
    assert answer.stderr.endswith("libcudnn.so.9 was called, and its package is not installed here\n"), answer.stderr
