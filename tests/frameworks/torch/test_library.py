"""The samples of the library are stored once, are equal everywhere, and can be read without torch."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from runners.suite.cases import Inputs
from runners.torch.suites.paper import library


def inputs(seed: int) -> Inputs:
    return Inputs(np.random.default_rng(seed), seed)


def test_samples_are_read_without_torch() -> None:
    program = (
        "import sys; from runners.torch.suites.paper.library import samples; list(samples('cat')); print(*sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "numpy" in answer.stdout.split()
    assert "torch" not in answer.stdout.split()


def test_the_file_says_which_torch_it_came_from() -> None:
    content = json.loads(library.SAMPLES.read_text())
    assert content["torch"].count(".") == 2
    assert set(content["samples"]) == set(library.DERIVED)


@pytest.mark.parametrize("operator", library.DERIVED)
def test_a_sample_makes_the_same_inputs_from_the_same_seed(operator: str) -> None:
    for sample in library.samples(operator):
        once, again = sample.inputs(inputs(7)), sample.inputs(inputs(7))
        np.testing.assert_equal(once, again)
        assert len(once) == len(sample.arguments)


def test_large_arrays_are_made_anew_from_the_seed() -> None:
    sample = next(candidate for candidate in library.samples("argsort") if "values" not in candidate.arguments[0])
    (one,), (other,) = sample.inputs(inputs(1)), sample.inputs(inputs(2))
    assert list(one.shape) == sample.arguments[0]["shape"]
    assert not np.array_equal(one, other)
