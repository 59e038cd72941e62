"""Work on the host is detected on a JAX device, with the calls that all frameworks share
(``tests/frameworks/common/host_work.py``).

Run as a separate process, this module prints the outcome of each call by its name, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from protocol.outcomes import Outcome
from tests.frameworks.common.host_work import HONEST, PLANTS
from tests.frameworks.common.host_work_claims import (
    Tried,
    test_a_shared_honest_call_is_not_accused,
    test_a_shared_plant_is_seen,
)
from tests.frameworks.common.running import run

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def try_out() -> Tried:
    """Run the calls on the second of two devices, in a process that has two devices from its start."""
    command = [sys.executable, "-m", "tests.frameworks.jax.test_host_work"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr[-4000:]
    outcomes = json.loads(answer.stdout.splitlines()[-1])
    return lambda trial: Outcome.model_validate(outcomes[trial.name])


def main() -> None:
    from tests.frameworks.jax.operations import JaxOperations
    from tests.frameworks.jax.second import start

    device, operations = start(), JaxOperations()
    outcomes = {
        trial.name: run(device, trial.case(operations, "jax.numpy.add"), trial.timing).model_dump(mode="json")
        for trial in (*PLANTS, *HONEST)
    }
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
