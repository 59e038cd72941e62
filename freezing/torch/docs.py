"""Freeze the suite ``docs``: the examples of torch's public docstrings.

python -m freezing.torch.docs FOLDER SURFACE
"""

from __future__ import annotations

import sys

from freezing.common.admission import LeftOpen
from freezing.common.docs import SECOND, Docs, main
from runners.torch import FRAMEWORK
from runners.torch.examples import TorchDialect

LEFT_OPEN = LeftOpen(
    frozenset(
        {
            "eig", "eigh", "geqrf", "lobpcg", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_unpack", "ldl_factor",
            "ldl_factor_ex", "pca_lowrank", "qr", "svd", "svd_lowrank", "symeig", "triangular_solve", "orthogonal_",
            "argsort", "cummax", "cummin", "kthvalue", "median", "mode", "nanmedian", "sort", "topk",
        }
    )
)  # fmt: skip
"""Functions with several right results: decompositions with arbitrary signs, and functions that may return the place of
any of several equal elements."""
SEVERAL, OTHER_DEVICE, TIMES = "works across processes", "of another device", "measures time"
UNASKED = {
    "torch.distributed": SEVERAL,
    "torch.multiprocessing": SEVERAL,
    "torch.nn.parallel": SEVERAL,
    "torch.accelerator": OTHER_DEVICE,
    "torch.cuda": OTHER_DEVICE,
    "torch.mps": OTHER_DEVICE,
    "torch.mtia": OTHER_DEVICE,
    "torch.xpu": OTHER_DEVICE,
    "torch.autograd.profiler": TIMES,
    "torch.profiler": TIMES,
    "torch.utils.benchmark": TIMES,
}


def begin(stage: str) -> str:
    """Import torch with one thread. Each example has two runs. In the second run, torch fills uninitialized memory with
    NaN."""
    import torch
    from runners.torch.devices import version

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(stage == SECOND, warn_only=True)
    return version()


if __name__ == "__main__":
    docs = Docs(FRAMEWORK, "freezing.torch.docs", TorchDialect(), LEFT_OPEN, UNASKED)
    raise SystemExit(main(docs, begin, sys.argv[1:]))
