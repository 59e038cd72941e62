"""The suite that every runner of ours offers beside its framework's own."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from protocol.catalogue import CatalogueSuite
from protocol.enums import CONFORMANCE_SUITE, ConformanceTag
from runners.suite.cases import Function
from runners.suite.catalogue import pieces, suites_of
from runners.suite.framework import Framework
from runners.suite.suites import Suite


def _framework(**suites: list[Function]) -> Framework:
    suites_by_name = {name: Suite(name, f"one.{name}", functions) for name, functions in suites.items()}
    return cast(Framework, SimpleNamespace(name="one", load_suites=lambda: suites_by_name))


def _offered_suites(suites: Mapping[str, Suite]) -> list[CatalogueSuite]:
    return [CatalogueSuite.model_validate(piece) for piece in pieces(suites)]


def test_it_has_one_case_of_each_tag_and_none_touches_a_device() -> None:
    (suite,) = _offered_suites(suites_of(_framework(), {}))
    assert [sorted(set(case.tags) & set(ConformanceTag)) for case in suite.cases] == [[tag] for tag in ConformanceTag]
    assert all(case.host_only for case in suite.cases)


def test_it_comes_after_the_frameworks_own_with_a_revision_of_its_own() -> None:
    suites = suites_of(_framework(paper=[], other=[]), {})
    assert list(suites) == ["paper", "other", CONFORMANCE_SUITE]
    alone = suites_of(_framework(), {})[CONFORMANCE_SUITE]
    assert suites[CONFORMANCE_SUITE].revision == alone.revision != suites["paper"].revision


def test_a_framework_cannot_bring_a_suite_of_its_name() -> None:
    with pytest.raises(ValueError, match="rename your suite"):
        suites_of(_framework(**cast(Any, {CONFORMANCE_SUITE: []})), {})
