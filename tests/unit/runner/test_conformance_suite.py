"""The suite that every runner of ours offers beside its framework's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from protocol.catalogue import Catalogue, CatalogueSuite
from protocol.enums import CONFORMANCE_SUITE, ConformanceTag
from runners.suite.cases import Function
from runners.suite.catalogue import offer, suites_of
from runners.suite.conformance import FUNCTIONS
from runners.suite.framework import Framework


def _framework(**suites: list[Function]) -> Framework:
    return cast(Framework, SimpleNamespace(name="one", load_suites=lambda: suites))


def _offered(suites: Mapping[str, Sequence[Function]], revision: str) -> list[CatalogueSuite]:
    return Catalogue.model_validate(offer(suites, revision)).suites


def test_it_has_one_case_of_each_tag_and_none_touches_a_device() -> None:
    (suite,) = _offered({CONFORMANCE_SUITE: FUNCTIONS}, "of the framework")
    assert [sorted(set(case.tags) & set(ConformanceTag)) for case in suite.cases] == [[tag] for tag in ConformanceTag]
    assert all(case.host_only for case in suite.cases)


def test_it_comes_after_the_frameworks_own_with_a_revision_of_its_own() -> None:
    suites = suites_of(_framework(paper=[], other=[]))
    assert list(suites) == ["paper", "other", CONFORMANCE_SUITE]
    one, two = (_offered(suites, revision) for revision in ("1", "2"))
    assert [each.revision for each in one[:2]] == ["1", "1"]
    assert one[2].revision == two[2].revision != "1"


def test_a_framework_cannot_bring_a_suite_of_its_name() -> None:
    with pytest.raises(ValueError, match="give it another name"):
        suites_of(_framework(**cast(Any, {CONFORMANCE_SUITE: []})))
