"""An accelerator may have one kernel for all operations that it lacks. Work that this kernel does on the host is
detected."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from tests.frameworks.common import promises

SOURCE = Path(__file__).with_name("boxed.cpp")
TORCH = Path(torch.__file__).parent

PLACED = """
import numpy as np
import torch
from protocol.enums import TimingPolicy
from runners import frameworks
from runners.suite.cases import Function
from tests.frameworks.common.running import run

toy = frameworks.load_device(frameworks.load("torch"), "toy")
toy.prime()
torch.ops.load_library(LIBRARY)
functions = {
    "where": Function("torch.where", reference=lambda x: np.where(x > 0, x, 0),
                      prepare=lambda context, x: lambda: context.function(x > 0, x, 0)),
    "trunc_": Function("torch.Tensor.trunc_", reference=np.trunc),
    "neg": Function("torch.neg", reference=np.negative),
}
function = functions[NAME]
function.value("whole", lambda inputs: (np.array([-2.0, 0.0, 3.0]),))
outcome = run(toy, function.cases[-1], TimingPolicy.off)
print(outcome.verdict, outcome.placement, outcome.proof.fallbacks)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++ to build the kernel with")
    library_file = tmp_path_factory.mktemp("boxed") / "boxed.so"
    includes = [f"-I{TORCH / 'include'}", f"-I{TORCH / 'include/torch/csrc/api/include'}"]
    linker_options = [f"-L{TORCH / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10"]
    command = [
        compiler,
        "-O0",
        "-shared",
        "-fPIC",
        "-std=c++20",
        *includes,
        str(SOURCE),
        "-o",
        str(library_file),
        *linker_options,
    ]
    subprocess.run(command, check=True, timeout=300)
    return library_file


def outcome_of_call(library: Path, name: str, **variables: str) -> str:
    return promises.in_a_process(f"NAME, LIBRARY = {name!r}, {str(library)!r}\n{PLACED}", **variables)


def test_torchs_own_fallback_is_seen(library: Path) -> None:
    assert outcome_of_call(library, "where", TOY_BY_TORCH="1") == "passed fell_back {'aten::where': 1}"


def test_a_kernel_that_nobody_can_look_into_proves_nothing(library: Path) -> None:
    assert outcome_of_call(library, "trunc_") == "passed unknown {}"


@pytest.mark.parametrize("variables", [{}, {"TOY_BY_TORCH": "1"}])
def test_an_operation_with_a_kernel_of_its_own_is_not_doubted(library: Path, variables: dict[str, str]) -> None:
    assert outcome_of_call(library, "neg", **variables) == "passed on_device {}"
