"""Rules about derivatives that show nothing, because wrong ones would be within the tolerance. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runners.suite.checks import Tolerance

Array = np.ndarray[Any, Any]
LEAST_TOLERANCES = 100
"""The largest element of a gradient in 16 bits or at unusual values must exceed so many absolute tolerances. A relative
error of a smaller one would be within the tolerance."""
ZERO = "its second derivatives are zero within the tolerance, so a device that returns zero would pass"


def are_zero(tolerance: Tolerance, derivatives: Sequence[Array]) -> bool:
    """Whether zeros agree with these second derivatives."""
    return all(
        np.allclose(0.0, array, tolerance.relative, tolerance.absolute)
        for array in derivatives
        if array.dtype.kind in "fc"
    )
