"""The device that arrays claim to be on while a command is recorded: the target's device, although the arrays are in
the host's memory.

Code that asks an array for its device then behaves as on the target. Only the user's code and its packages get this
answer. Torch's own Python, NumPy and C++ extensions see the real device, because they read the memory.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from runners.suite.recording.recorder import Caller, Options
from runners.suite.trees import mapped
from runners.torch import FRAMEWORK

HOST = torch.device("cpu")
_NAMING: frozenset[type] = frozenset({torch.device, str})
"""The types of values that can name a device."""


class SpokenDevice:
    """Decides which device arrays claim to be on, and replaces this device in the arguments of calls."""

    def __init__(self, device: torch.device, framework_folders: Sequence[str]) -> None:
        self._type = device.type
        self._folders = tuple(framework_folders)
        kinds = ("cpu", "cuda", "xla", "mps", "xpu")
        self._answers = {
            torch.Tensor.device.__get__: device,
            **{getattr(torch.Tensor, f"is_{kind}").__get__: device.type == kind for kind in kinds},
        }

    def caller(self, function: Any, torchs_own: Caller) -> Caller:
        """Return the caller for a function that may ask for the device. ``torchs_own`` gives torch's own answer."""
        if function not in self._answers:
            return torchs_own
        answer = self._answers[function]

        def answered(args: Sequence[Any], kwargs: Options) -> Any:
            # Frame 1 is the mode. Frame 2 is the code that asks for the device.
            is_torchs = sys._getframe(2).f_code.co_filename.startswith(self._folders)
            return torchs_own(args, kwargs) if is_torchs else answer

        return answered

    def on_host(self, args: Sequence[Any], kwargs: Options) -> tuple[Sequence[Any], Options]:
        """Return the arguments of a call, with the claimed device replaced by the host."""
        if not _NAMING.isdisjoint(map(type, args)) and any(map(self._is_it, args)):
            args = [HOST if self._is_it(value) else value for value in args]
        if kwargs and any(map(self._is_it, kwargs.values())):
            kwargs = {name: HOST if self._is_it(value) else value for name, value in kwargs.items()}
        return args, kwargs

    def stand_in(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return the result of a call that the CPU supports only in float32, converted to the dtype of the call's first
        array. The program continues with this result in place of the target's."""
        dtypes: list[torch.dtype] = []

        def to_float32(tensor: torch.Tensor) -> torch.Tensor:
            dtypes.append(tensor.dtype)
            return tensor.float()

        wide_args, wide_kwargs = mapped((list(args), dict(kwargs)), to_float32, torch.Tensor)
        result = func(*wide_args, **wide_kwargs)
        return mapped(
            result, lambda tensor: tensor.to(dtypes[0]) if tensor.is_floating_point() else tensor, torch.Tensor
        )

    def _is_it(self, value: Any) -> bool:
        if type(value) is torch.device:
            return bool(value.type == self._type)
        return type(value) is str and value.partition(":")[0] == self._type


def spoken_device(word: str | None, framework_folders: Sequence[str]) -> SpokenDevice | None:
    """Return the device that arrays claim to be on in a recording for this device; None for the CPU."""
    if word is None:
        return None
    declaration = FRAMEWORK.devices[word]
    from runners.torch import devices

    device = getattr(devices, declaration.implementation.partition(":")[2])
    return SpokenDevice(torch.device(device.handle_name), framework_folders)
