"""Imitates how another processor computes a torch call: which values it rounds, and which results are the same on each
processor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from freezing.torch.processor import in_steps, several_threads

LOW, NEAR = torch.tensor([8.0], dtype=torch.bfloat16), torch.tensor([-0.9], dtype=torch.bfloat16)
LARGE = torch.tensor([0.0, 1e30, 1e30])


def computed(call: Callable[[], torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The result of a call on this host, and the result computed in steps."""
    here = call()
    with in_steps():
        return here, call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.lerp(-LOW, LOW, 0.456),  # the difference of the ends is rounded
        lambda: torch.cumprod(LARGE, 0),  # the last two are multiplied first
        lambda: LARGE.clone().cumprod_(0),
        lambda: torch.std(torch.tensor([1e38, -1e38])),  # squares are out of range
        lambda: torch.floor_divide(torch.tensor([117.0], dtype=torch.bfloat16), 7.81),
    ],
)
def test_what_a_processor_may_round_or_join_otherwise_is_another_result(call: Callable[[], torch.Tensor]) -> None:
    here, elsewhere = computed(call)
    assert not torch.equal(here, elsewhere)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.exp(LOW),
        lambda: torch.div(torch.tensor([torch.inf, 1.0]), torch.tensor([2.0, torch.inf]), rounding_mode="floor"),
        lambda: torch.cumsum(torch.tensor([1, 2, 3]), 0),
        lambda: torch.cumsum(torch.tensor([[1.0, 2.0], [4.0, 8.0], [16.0, 32.0]]), 0),
        lambda: torch.cumsum(torch.tensor(3.0), 0),
        lambda: torch.nn.functional.elu(NEAR),
        lambda: torch.lerp(torch.tensor([1j]), torch.tensor([2.0 + 0j]), 0.5),
    ],
)
def test_all_else_is_the_same(call: Callable[[], torch.Tensor]) -> None:
    here, elsewhere = computed(call)
    torch.testing.assert_close(elsewhere, here, equal_nan=True)


def test_the_gradients_of_attention_are_the_same() -> None:
    query = torch.linspace(-1, 1, 24).reshape(1, 2, 3, 4)

    def gradient() -> torch.Tensor:
        leaf = query.clone().requires_grad_()
        torch.nn.functional.scaled_dot_product_attention(leaf, query, query).square().sum().backward()
        assert leaf.grad is not None
        return leaf.grad

    here, elsewhere = computed(gradient)
    torch.testing.assert_close(elsewhere, here)


def test_the_host_computes_as_before_afterwards() -> None:
    threads, before = torch.get_num_threads(), torch.lerp(-LOW, LOW, 0.456)
    with several_threads(), in_steps():
        pass
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.lerp(-LOW, LOW, 0.456), before)
