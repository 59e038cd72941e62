"""A rule about second derivatives. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runners.suite.checks import Tolerance

Array = np.ndarray[Any, Any]
ZERO = "its second derivatives are zero within the tolerance, so a device that returns zero would pass"


def are_zero(tolerance: Tolerance, derivatives: Sequence[Array]) -> bool:
    """Whether zeros agree with these second derivatives."""
    return all(
        np.allclose(0.0, array, tolerance.relative, tolerance.absolute)
        for array in derivatives
        if array.dtype.kind in "fc"
    )
