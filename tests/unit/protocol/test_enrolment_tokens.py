"""A token is valid for one name and one target, and cannot be made without the key."""

from __future__ import annotations

import pytest

from protocol.enrolment_tokens import EnrolmentToken

KEY = "k" * 32


def test_a_token_is_read_as_it_was_made() -> None:
    token = EnrolmentToken.make(KEY, "jax-cpu", "jax/cpu")
    assert EnrolmentToken.parse(str(token)) == token
    assert token.is_of(KEY)
    assert not token.is_of("j" * 32)
    assert KEY not in str(token)


@pytest.mark.parametrize(("before", "after"), [("jax-cpu~", "torch-cpu~"), ("~jax/cpu", "~torch/cpu")])
def test_a_token_that_was_changed_is_of_no_key(before: str, after: str) -> None:
    text = str(EnrolmentToken.make(KEY, "jax-cpu", "jax/cpu"))
    assert not EnrolmentToken.parse(text.replace(before, after)).is_of(KEY)


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("jax-cpu", "jax-cpu", True),
        ("jax-cpu", "jax-cpu-1", False),
        ("jax.cpu", "jaxxcpu", False),
        ("replica-+-jax-cpu", "replica-12-jax-cpu", True),
        ("replica-+-jax-cpu", "replica--jax-cpu", False),
        ("replica-+-jax-cpu", "replica-x-jax-cpu", False),
        ("replica-+-jax-cpu", "replica-1-jax-cpu\n", False),
        ("replica-+-jax-cpu", "replica-\u0661-jax-cpu", False),
    ],
)
def test_a_token_is_for_its_name(pattern: str, name: str, fits: bool) -> None:
    assert EnrolmentToken.make(KEY, pattern, "jax/cpu").is_for(name) is fits


@pytest.mark.parametrize(("name", "target"), [("", "a/b"), ("a b", "a/b"), ("a~b", "a/b"), ("a", "ab"), ("a", "a/b/c")])
def test_no_token_is_made_for_what_no_runner_can_be(name: str, target: str) -> None:
    with pytest.raises(ValueError, match="FRAMEWORK/DEVICE"):
        EnrolmentToken.make(KEY, name, target)
