"""PyTorch: the declaration of its devices and suites. This module does not import torch.

``devices.py`` forces calls onto each device, creates their inputs and waits for their results. ``placement/`` proves
where a call ran. A module or folder in ``suites/`` is a suite of the same name. In a folder, every file that defines
``FUNCTIONS`` belongs to the suite.
"""

from __future__ import annotations

from runners.suite.framework import DeviceDeclaration, Framework, PublicSurface, SparedPackages, suites_in

# Importing torch_xla makes torch ask whether CUDA is available. With this setting torch asks NVML. Otherwise torch
# would initialize CUDA in this process, forked children could not use CUDA, and their CUDA calls would fail only
# because of the fork.
_FORKABLE = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
_NO_CUDA = {"CUDA_VISIBLE_DEVICES": "", **_FORKABLE}

FRAMEWORK = Framework(
    name="torch",
    devices={
        "cpu": DeviceDeclaration("runners.torch.devices:Cpu", _NO_CUDA),
        "cuda": DeviceDeclaration("runners.torch.devices:Cuda", _FORKABLE),
        "tpu": DeviceDeclaration("runners.torch.devices:Tpu", {"PJRT_DEVICE": "TPU", **_NO_CUDA}, own_environment=True),
        "xla": DeviceDeclaration("runners.torch.devices:Xla", {"PJRT_DEVICE": "CPU", **_NO_CUDA}),
    },
    suites=suites_in("runners.torch.suites"),
    unserved={"mps": "Apple's Metal is for macOS, and this runner needs Linux to isolate its cases"},
    surface=PublicSurface(
        "torch",
        homes=("torch", "functorch"),
        excluded={
            "torch.classes": "makes any name that it is asked for",
            "torch.ops": "makes any name that it is asked for",
        },
    ),
    # These are CUDA's libraries and the compiler for its kernels, two thirds of what torch would install.
    spared=SparedPackages(
        r"nvidia-.*|cuda-.*|(pytorch-)?triton", used_by=frozenset({"cuda"}), stand_in="runners.torch.stubs.place:place"
    ),
    recorder="runners.torch.recorder:recording",
    # Not "cuda", because code that sees this name calls torch.cuda, which is not available.
    spoken_devices=frozenset({"tpu", "xla"}),
    watcher="runners.torch.recorder:watching",
    replay="runners.torch.replay:case_of",
)
