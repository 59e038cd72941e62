"""Call sites are matched with calls by line and name. Missed calls, and sites without a call, are named."""

from __future__ import annotations

import pytest

from bench.call_sites.matching import SeenCalls, agreement, plain_name
from coordinator.assess.sites import Certainty, Site, Use


def site(function: str, line: int, use: Use = Use.called) -> Site:
    return Site("a.py", line, 1, function, Certainty.typed, use, None, "")


def test_what_was_missed_and_what_was_never_called_is_named() -> None:
    seen_calls = SeenCalls(
        calls=frozenset({("a.py", 1, 1, "torch.Tensor.__matmul__"), ("a.py", 2, 4, "torch.sort")}),
        places=frozenset({("a.py", line, 1) for line in (1, 2, 3)}),
        names=frozenset({"torch.Tensor.__matmul__", "torch.Tensor.__rsub__", "torch.sort", "torch.mm"}),
    )
    sites = [
        site("torch.matmul", 1, Use.operator),
        site("torch.Tensor.__rsub__", 3, Use.operator),
        site("torch.mm", 3, Use.named),
        site("torch.mm", 9),
        site("torch.nn.Linear", 3),
    ]
    result = agreement(sites, seen_calls, "torch")
    assert result.missing_calls == (("a.py", 2, "torch.sort"),)
    assert [site.function for site in result.unmade] == ["torch.Tensor.__rsub__"]
    assert (result.recall, result.precision) == (0.5, 0.5)
    assert agreement([*sites, site("torch.sort", 4)], seen_calls, "torch").recall == 1


def test_a_site_whose_expression_did_not_run_is_no_site_that_ran() -> None:
    """In ``x if is_float else x.float()`` the line ran, but neither the beginning of the call nor the end of its
    callee."""
    seen_calls = SeenCalls(
        frozenset({("a.py", 1, 1, "torch.sort")}), frozenset({("a.py", 1, 1)}), frozenset({"torch.mm"})
    )
    called = Site("a.py", 1, 20, "torch.mm", Certainty.typed, Use.called, None, "")
    assert agreement([called], seen_calls, "torch").sites == 0
    ran = SeenCalls(seen_calls.calls, frozenset({("a.py", 1, 22)}), seen_calls.names)
    assert agreement([called], ran, "torch").sites == 1


@pytest.mark.parametrize(
    ("function", "root", "name"),
    [
        ("torch.Tensor.__truediv__", "torch", "div"),
        ("torch.Tensor.add_", "torch", "add"),
        ("torch.Tensor.__rsub__", "torch", "sub"),
        ("torch.Tensor.__getitem__", "torch", "getitem"),
        ("torch.Tensor.__float__", "torch", "item"),
        ("jax.Array.__bool__", "jax", "item"),
        ("jax.Array.__neg__", "jax", "negative"),
        ("jax.Array.__radd__", "jax", "add"),
        ("jax.lax.add", "jax", "add"),
    ],
)
def test_an_operator_is_called_what_its_function_is(function: str, root: str, name: str) -> None:
    assert plain_name(function, root) == name
