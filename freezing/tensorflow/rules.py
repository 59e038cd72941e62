"""Rules: what only TensorFlow shows of a call on the host, for the gate and for pruning."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from freezing.common.per_device import Refusal
from freezing.tensorflow import conversions
from freezing.tensorflow.definitions import RAW

_OPERATION = re.compile(r"\[Op:(\w+)\]")


def reason_undetermined(call: Callable[[], Any]) -> str | None:
    """Why nothing determines the result of a call, or that it is refused."""
    return conversions.reason(call)


def refusing_operation(error: Exception) -> Refusal | None:
    """The operation that raised an error; None if the error was raised around operations."""
    operation = _OPERATION.search(str(error))
    return Refusal(f"{RAW}.{operation.group(1)}", str(error)) if operation else None
