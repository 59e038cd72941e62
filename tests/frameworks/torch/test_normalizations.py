"""The NumPy formulas that judge normalizations agree with torch in float64, and with numbers computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from freezing.torch import normalizations
from freezing.torch.references import flat, to_numpy

DRAW = np.random.default_rng(0)


def values(*shape: int) -> torch.Tensor:
    return torch.from_numpy(DRAW.standard_normal(shape))


def positive(*shape: int) -> torch.Tensor:
    return torch.from_numpy(DRAW.uniform(0.5, 2, shape))


CALLS: list[tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (functional.batch_norm, normalizations.batch_norm, (values(4, 3), values(3), positive(3)), {}),
    (functional.batch_norm, normalizations.batch_norm, (values(2, 3, 4), None, None), {"training": True, "eps": 0.1}),
    (
        functional.batch_norm,
        normalizations.batch_norm,
        (values(2, 3, 4, 2), values(3), positive(3), values(3), values(3)),
        {"training": True, "momentum": 0.3},
    ),
    (functional.instance_norm, normalizations.instance_norm, (values(2, 3, 4), None, None, values(3), values(3)), {}),
    (
        functional.instance_norm,
        normalizations.instance_norm,
        (values(2, 3, 4, 5), values(3), positive(3)),
        {"use_input_stats": False},
    ),
    (functional.layer_norm, normalizations.layer_norm, (values(2, 3, 4), (3, 4), values(3, 4), values(3, 4)), {}),
    (functional.layer_norm, normalizations.layer_norm, (values(2, 3, 4), (4,)), {"eps": 0.5}),
    (functional.group_norm, normalizations.group_norm, (values(2, 6, 4), 3, values(6), values(6)), {}),
    (functional.group_norm, normalizations.group_norm, (values(2, 6, 2, 2), 1), {"eps": 0.5}),
    (functional.rms_norm, normalizations.rms_norm, (values(2, 3, 4), (3, 4), values(3, 4)), {"eps": 0.1}),
    (functional.local_response_norm, normalizations.local_response_norm, (values(2, 5, 4), 3), {"alpha": 0.5}),
    (functional.local_response_norm, normalizations.local_response_norm, (values(2, 5, 2, 2), 4, 1.0, 0.5, 2.0), {}),
    (functional.normalize, normalizations.normalize, (values(2, 3, 4),), {}),
    (functional.normalize, normalizations.normalize, (values(2, 3),), {"p": 1, "dim": 0, "eps": 10.0}),
    (functional.normalize, normalizations.normalize, (values(2, 3),), {"p": float("inf")}),
    (functional.normalize, normalizations.normalize, (values(2, 3).to(torch.complex128),), {"p": 3.0}),
]


@pytest.mark.parametrize(
    ("function", "formula", "arguments", "options"),
    CALLS,
    ids=[f"{formula.__name__}-{number}" for number, (_, formula, _, _) in enumerate(CALLS)],
)
def test_a_formula_is_the_function_in_float64(
    function: Callable[..., Any], formula: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    by_formula = formula(*to_numpy(arguments), **options)
    np.testing.assert_allclose(by_formula, function(*arguments, **options).numpy(), rtol=1e-12, atol=1e-12)


MODULES: list[tuple[torch.nn.Module, torch.Tensor]] = [
    (torch.nn.BatchNorm1d(3), values(4, 3)),
    (torch.nn.BatchNorm1d(3, momentum=None), values(4, 3, 2)),
    (torch.nn.BatchNorm2d(3, affine=False, momentum=0.7), values(2, 3, 2, 2)),
    (torch.nn.BatchNorm3d(3, track_running_stats=False), values(2, 3, 2, 2, 2)),
    (torch.nn.InstanceNorm1d(3, affine=True, track_running_stats=True), values(4, 3, 5)),
    (torch.nn.InstanceNorm1d(3, track_running_stats=True, momentum=0.4), values(3, 5)),
    (torch.nn.InstanceNorm2d(3), values(2, 3, 2, 2)),
    (torch.nn.InstanceNorm3d(3, track_running_stats=True), values(2, 3, 2, 2, 2)),
    (torch.nn.LayerNorm((3, 4)), values(2, 3, 4)),
    (torch.nn.GroupNorm(2, 4), values(2, 4, 3)),
    (torch.nn.RMSNorm(4, eps=0.1), values(2, 4)),
    (torch.nn.LocalResponseNorm(3), values(2, 4, 3)),
]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("module", "array"), MODULES, ids=[f"{module}" for module, _ in MODULES])
def test_a_formula_is_the_module_in_float64_and_leaves_its_buffers(
    module: torch.nn.Module, array: torch.Tensor, training: bool
) -> None:
    module = module.double().train(training)
    with torch.no_grad():
        for tensor in module.state_dict().values():
            tensor.copy_(positive(*tensor.shape) if tensor.is_floating_point() else torch.tensor(4))
    before = {name: tensor.clone().numpy() for name, tensor in module.state_dict().items()}
    by_formula = normalizations.MODULES[type(module).__name__](module, before, array.numpy())
    own = [*flat(module(array)), *flat(dict(module.named_buffers()))]
    assert len(by_formula) == len(own)
    for one, other in zip(by_formula, own, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)


def test_a_running_variance_is_that_of_a_sample() -> None:
    """So it is divided by one less than the number of elements, and the result by their number."""
    module = torch.nn.BatchNorm1d(1, momentum=None, affine=False, eps=0.0)
    state = {"running_mean": np.zeros(1), "running_var": np.ones(1), "num_batches_tracked": np.array(0)}
    result, mean, variance, count = normalizations.batch_module(module, state, np.array([[1.0], [3.0]]))
    assert result.tolist() == [[-1.0], [1.0]]
    assert (mean.tolist(), variance.tolist(), count) == ([2.0], [2.0], 1)


def test_a_nan_is_in_the_results_of_its_own_statistics_alone() -> None:
    array = np.arange(12.0).reshape(2, 3, 2)
    array[0, 1, 0] = np.nan
    by_channel = np.isnan(normalizations.batch_norm(array, None, None, training=True))
    by_instance = np.isnan(normalizations.instance_norm(array))
    assert by_channel.any(axis=(0, 2)).tolist() == by_channel.all(axis=(0, 2)).tolist() == [False, True, False]
    assert np.argwhere(by_instance).tolist() == [[0, 1, 0], [0, 1, 1]]
