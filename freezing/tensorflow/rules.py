"""Rules about a call on the host that only TensorFlow can check, for the gate and for pruning."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from freezing.common.per_device import Refusal
from freezing.tensorflow import conversions
from freezing.tensorflow.definitions import RAW

_OPERATION = re.compile(r"\[Op:(\w+)\]")


def reason_undetermined(call: Callable[[], Any]) -> str | None:
    """Return why the call's result, or its refusal, is undetermined; None if it is determined."""
    return conversions.reason(call)


def refusing_operation(error: Exception) -> Refusal | None:
    """Return the operation that raised an error; None if the error was raised outside of operations."""
    operation = _OPERATION.search(str(error))
    return Refusal(f"{RAW}.{operation.group(1)}", str(error)) if operation else None
