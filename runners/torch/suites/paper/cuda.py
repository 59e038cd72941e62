"""Cases of the parts of torch that are for CUDA only: ``torch.cuda`` and ``torch.cuda.synchronize``.

The same calls run on every device. On other devices than CUDA they are expected to fail, and this failure is the
result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runners.suite.cases import Context, Function
from runners.suite.checks import Tolerance

PRODUCT = Tolerance(1e-4, 1e-3)


def waited(context: Context, x: Any, *device: Any) -> Callable[[], Any]:
    """Prepare a product that is launched before the wait and returned after it."""

    def call() -> Any:
        product = x @ x
        context.function(*device)
        return product

    return call


synchronize = Function("torch.cuda.synchronize", lambda x, *device: x @ x, prepare=waited)
synchronize.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)], tolerance=PRODUCT)
synchronize.value("device-by-index", lambda inputs: [inputs.normal(16, 16), 0], tolerance=PRODUCT)
synchronize.value("device-by-name", lambda inputs: [inputs.normal(16, 16), "cuda:0"], tolerance=PRODUCT)
synchronize.value(
    "nothing-launched", lambda inputs: [], prepare=lambda context: context.function, reference=lambda: None
)


def beside(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a product in a separate stream, for which the current stream waits."""

    def call() -> Any:
        stream = context.function.Stream()
        stream.wait_stream(context.function.current_stream())
        with context.function.stream(stream):
            product = x @ x
        context.function.current_stream().wait_stream(stream)
        return product

    return call


cuda = Function("torch.cuda")
cuda.value(
    "current-device",
    lambda inputs: [],
    prepare=lambda context: lambda: context.function.current_device(),
    reference=lambda: 0,
)
cuda.value(
    "tensors-come-to-it",
    lambda inputs: [inputs.normal(256, 256)],
    prepare=lambda context, x: lambda: context.function.FloatTensor(256, 256).copy_(x),
    reference=lambda x: x,
)
cuda.value(
    "stream", lambda inputs: [inputs.normal(256, 256)], prepare=beside, reference=lambda x: x @ x, tolerance=PRODUCT
)

FUNCTIONS: list[Function] = [synchronize, cuda]
