"""A constructor is watched in its own class, and nothing of the class is changed for good."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from inspect import getfullargspec, signature
from typing import Any

import pytest

from runners.suite.construction import watched_constructor


class Base:
    def __init__(self, size: int = 3) -> None:
        self.size = size


class Derived(Base):
    pass


class Made:
    def __new__(cls, size: int = 3) -> Any:
        instance = super().__new__(cls)
        instance.size = size  # type: ignore[attr-defined]
        return instance


class MadeAnew(Made):
    pass


class Plain:
    pass


class Watch:
    def __init__(self) -> None:
        self.entered = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        self.entered += 1
        yield


@pytest.mark.parametrize("kind", [Base, Derived, Made, MadeAnew])
def test_each_construction_is_watched_once(kind: Any) -> None:
    watch, before, plain_signature = Watch(), dict(vars(kind)), signature(kind)
    with watched_constructor(kind, watch.enter):
        assert kind(4).size == 4
        assert type("More", (kind,), {})(5).size == 5
        assert signature(kind) == plain_signature
    assert watch.entered == 2
    assert dict(vars(kind)) == before


@pytest.mark.parametrize("function", [Plain, len, date, lambda: 1])
def test_what_has_no_constructor_of_its_own_is_left_alone(function: Any) -> None:
    watch = Watch()
    with watched_constructor(function, watch.enter):
        assert date(2020, 1, 1).year == 2020
        assert Plain() is not None
    assert watch.entered == 0


@pytest.mark.parametrize("kind", [Base, Derived])
def test_a_class_that_reads_the_arguments_of_its_own_constructor_finds_them(kind: Any) -> None:
    """As a layer of Keras does, which does not look behind a wrapper."""
    before = getfullargspec(kind.__init__)
    with watched_constructor(kind, Watch().enter):
        assert getfullargspec(kind.__init__) == before
