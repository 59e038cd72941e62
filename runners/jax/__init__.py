"""JAX: the declaration of its devices and suites. This module imports nothing heavy.

``devices.py`` forces calls onto each device, creates their inputs and waits for their results. ``placement/`` proves
where a call ran. A module or folder in ``suites/`` is a suite of the same name. In a folder, every file that defines
``FUNCTIONS`` belongs to the suite.
"""

from __future__ import annotations

from runners.suite.framework import DeviceDeclaration, Framework, PublicSurface, suites_in

_ON_HOST = {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
_ALLOCATED_AS_NEEDED = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}

# Each device names one platform, never a list. With "cuda,cpu", JAX silently uses the host if CUDA does not work.
FRAMEWORK = Framework(
    name="jax",
    devices={
        "cpu": DeviceDeclaration("runners.jax.devices:Cpu", _ON_HOST),
        "cuda": DeviceDeclaration(
            "runners.jax.devices:Cuda", {"JAX_PLATFORMS": "cuda", **_ALLOCATED_AS_NEEDED}, own_environment=True
        ),
        # This device runs programs on the host, where every installation can lower them for CUDA, and shows which
        # functions have no lowering for CUDA.
        "cuda-lowered": DeviceDeclaration("runners.jax.devices:CudaLowered", _ON_HOST),
        "tpu": DeviceDeclaration("runners.jax.devices:Tpu", {"JAX_PLATFORMS": "tpu"}, own_environment=True),
        "tpu-lowered": DeviceDeclaration("runners.jax.devices:TpuLowered", _ON_HOST),
    },
    suites=suites_in("runners.jax.suites"),
    surface=PublicSurface(
        "jax",
        homes=("jax", "jaxlib"),
        excluded={"jax.extend.mlir": "the bindings of the compiler's dialects, generated with it"},
    ),
    recorder="runners.jax.recorder:recording",
    watcher="runners.jax.recorder:watching",
    replay="runners.jax.replay:case_of",
)
