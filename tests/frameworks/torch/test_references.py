"""Handwritten references, which do not use the framework, agree with numbers computed by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from runners.torch.suites.paper import attention, library_modules
from runners.torch.suites.paper.gradients import backward, pull_back
from runners.torch.suites.paper.windows import adaptive_averages, convolve


def test_convolution_by_hand() -> None:
    image = np.arange(9.0).reshape(1, 1, 3, 3)
    kernel = np.array([[[[1.0, 0.0], [0.0, -1.0]]]])
    assert np.array_equal(convolve(image, kernel)[0, 0], np.full((2, 2), -4.0))
    assert np.array_equal(convolve(image, kernel, stride=2)[0, 0], [[-4.0]])
    assert np.array_equal(convolve(image, kernel, np.array([10.0]), dilation=2)[0, 0], [[2.0]])
    assert np.array_equal(convolve(image, kernel, padding="same")[0, 0, -1], [6.0, 7.0, 8.0])


def test_groups_do_not_see_each_other() -> None:
    image = np.stack([np.ones((2, 2)), np.full((2, 2), 5.0)])[np.newaxis]
    kernel = np.ones((2, 1, 1, 1))
    assert np.array_equal(convolve(image, kernel, groups=2), image)


def test_adaptive_windows_overlap_where_sizes_do_not_divide() -> None:
    averages = adaptive_averages(np.arange(5.0).reshape(1, 5), 3, axes=1)
    assert np.allclose(averages, [[0.5, 2.0, 3.5]])


def test_attention_to_one_memory_returns_it() -> None:
    weights = {
        "in_proj_weight": np.vstack([np.eye(2)] * 3),
        "out_proj.weight": np.eye(2),
    }
    query, memory = np.array([[[0.3, -2.0]]]), np.array([[[1.5, 4.0]]])
    result = attention.attend(query, memory, weights, "", 1, np.zeros((1, 1, 1, 1)))
    assert np.allclose(result, memory)


def test_a_masked_memory_is_not_seen() -> None:
    weights = {"in_proj_weight": np.vstack([np.eye(2)] * 3), "out_proj.weight": np.eye(2)}
    query, memory = np.ones((1, 1, 2)), np.array([[[1.0, 2.0], [9.0, 9.0]]])
    mask = attention.as_scores(None, np.array([[False, True]]))
    assert np.allclose(attention.attend(query, memory, weights, "", 2, mask), [[[1.0, 2.0]]])


def test_differences_find_a_known_gradient() -> None:
    at = np.array([0.5, -1.0, 2.0])
    assert np.allclose(pull_back(np.sin, at, np.array([1.0, 2.0, 3.0])), [1.0, 2.0, 3.0] * np.cos(at), atol=1e-9)


def test_backward_gives_the_gradients_of_inputs_and_weights() -> None:
    with_gradients = backward(lambda weights, values: weights["scale"] * values)
    result, of_inputs, of_weights = with_gradients({"scale": np.array(3.0)}, np.array([1.0, 2.0]), np.ones(2))
    assert np.allclose(result, [3.0, 6.0])
    assert np.allclose(of_inputs[0], [3.0, 3.0])
    assert of_weights["scale"] == pytest.approx(3.0)


def test_every_module_of_the_library_has_samples() -> None:
    content = json.loads(library_modules.DATA.read_text())
    assert content["torch"]
    for name in library_modules.MODULES:
        assert library_modules.samples(f"torch.nn.{name}"), name
    for name in library_modules.OPTIMIZERS:
        assert library_modules.optimizer_samples(f"torch.optim.{name}"), name
