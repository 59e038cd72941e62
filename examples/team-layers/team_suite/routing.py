"""Cases of the team's routing."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.suite.cases import Function
from runners.suite.checks import Expected


def positions(choices: np.ndarray[Any, Any], expert: int) -> Expected:
    return Expected(np.flatnonzero(choices == expert), "int64")


tokens_of = Function("team_layers.tokens_of", positions)
tokens_of.value("some", lambda inputs: [inputs.integers(128, low=0, high=8)], expert=3)
tokens_of.value("none", lambda inputs: [inputs.integers(16, low=0, high=8)], expert=9)

FUNCTIONS = [tokens_of]
