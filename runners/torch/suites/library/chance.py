"""Handwritten cases of functions for random numbers: seeds, states of generators, and the functions in ``torch.cuda``
that set a seed.

They cover the most used functions without samples in torch's own tests. The checks require that numbers repeat where
they must.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.errors import UntestedError
from runners.suite.cases import Context, Function
from runners.suite.checks import Mismatch, uniform_twice
from runners.torch.suites.library.by_hand import FORM_TAGS, chart_in

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def draw(context: Context) -> Any:
    import torch

    return torch.rand(3, 4, device=context.device)


def seeded_for_cuda(context: Context) -> Callable[[], Any]:
    """Prepare draws after each of two seeds for all devices: one draw after an additional seed for CUDA, and two draws
    without it. The last result tells whether the device is CUDA."""
    import torch

    def call() -> Any:
        draws = []
        for seed in (3, 4):
            for is_seeded_again in (True, False, False):
                torch.manual_seed(seed)
                if is_seeded_again:
                    context.function(5)
                draws.append(draw(context))
        return draws, context.device.type == "cuda"

    return call


def only_cuda_is_seeded(observed: Any, *_: Any, **__: Any) -> None:
    """Check that the seed for CUDA determines the numbers of CUDA, and that another device ignores it."""
    draws, is_cuda = observed
    first, plain_first, plain_again, second, plain_second, _ = (leaf.values for leaf in draws)
    if not is_cuda and not np.array_equal(plain_first, plain_again):
        raise UntestedError(
            "torch.manual_seed does not give the same numbers again here, so a second seed shows nothing"
        )
    if is_cuda and not np.array_equal(first, second):
        raise Mismatch("the same seed gave other numbers")
    if not is_cuda and not (np.array_equal(first, plain_first) and np.array_equal(second, plain_second)):
        raise Mismatch("a seed of CUDA's changed the numbers of another device")
    if np.array_equal(plain_first, plain_second):
        raise Mismatch("two seeds gave the same numbers")


for name in ("torch.cuda.manual_seed", "torch.cuda.manual_seed_all"):
    charted(name, prepare=seeded_for_cuda).behaviour(
        "float32-3x4", lambda inputs: [], only_cuda_is_seeded, tags=FORM_TAGS
    )


def forked(context: Context) -> Callable[[], Any]:
    """Prepare a draw in a block that restores the generator's state at its end, and a draw after this block."""
    import torch

    is_host = context.device.type == "cpu"
    options = {"devices": []} if is_host else {"device_type": context.device.type}

    def call() -> Any:
        torch.manual_seed(3)
        with context.function(**options):
            first = draw(context)
        return first, draw(context)

    return call


charted("torch.random.fork_rng", prepare=forked).behaviour(
    "float32-3x4", lambda inputs: [], uniform_twice, tags=FORM_TAGS
)
