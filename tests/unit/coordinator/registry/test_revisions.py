"""The differences between two contents of one revision, and the sentences about them."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from coordinator.registry.revisions import content_of, difference, digest
from protocol.catalogue import Catalogue, CatalogueCase, CatalogueSuite, ambiguity

CASES = [
    CatalogueCase(id=f"torch.cat/{number}", function="torch.cat", tags=["a", "b"] if number else [])
    for number in range(20)
]


def suite(cases: list[CatalogueCase], name: str = "paper") -> CatalogueSuite:
    return CatalogueSuite(name=name, revision="r1", cases=cases)


def with_first(**fields: object) -> list[CatalogueCase]:
    return [CASES[0].model_copy(update=fields), *CASES[1:]]


def difference_text(cases: list[CatalogueCase]) -> str:
    return str(difference(content_of(suite(CASES)), content_of(suite(cases))))


def test_the_order_of_cases_and_tags_is_no_difference() -> None:
    shuffled_cases = [case.model_copy(update={"tags": case.tags[::-1]}) for case in CASES]
    random.Random(1).shuffle(shuffled_cases)
    assert shuffled_cases != CASES
    one, other = content_of(suite(CASES)), content_of(suite(shuffled_cases))
    assert not difference(one, other)
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        (with_first(function="torch.dot"), "1 case changed (torch.cat/0: function torch.cat → torch.dot)"),
        (with_first(host_only="no array"), "1 case changed (torch.cat/0: host_only none → 'no array')"),
        (with_first(tags=["b", "a"]), "1 case changed (torch.cat/0: tags none → a b)"),
        (with_first(digest="d1"), "1 case changed (torch.cat/0: digest none → 'd1')"),
        (with_first(id="torch.cat/x"), "1 case added (torch.cat/x), 1 case removed (torch.cat/0)"),
        (CASES[5:], "5 cases removed (torch.cat/0, torch.cat/1, torch.cat/2, …)"),
        (CASES[:17], "3 cases removed (torch.cat/17, torch.cat/18, torch.cat/19)"),
        (
            [*CASES, CatalogueCase(id="a\nb", function="f"), CatalogueCase(id="x" * 500, function="f")],
            f"2 cases added (a?b, {'x' * 119}…)",
        ),
        (
            [case.model_copy(update={"function": "f"}) for case in CASES],
            "20 cases changed (torch.cat/0: function torch.cat → f; torch.cat/1: function torch.cat → f; "
            "torch.cat/2: function torch.cat → f, …)",
        ),
    ],
)
def test_a_difference_is_named_and_changes_the_digest(cases: list[CatalogueCase], words: str) -> None:
    assert difference_text(cases) == words
    assert digest(content_of(suite(cases))) != digest(content_of(suite(CASES)))


def test_where_one_text_ends_and_the_next_begins_decides() -> None:
    one = suite([CatalogueCase(id="a", function="b", tags=["c d"])])
    for other in (
        suite([CatalogueCase(id="a", function="b", tags=["c", "d"])]),
        suite([CatalogueCase(id="a", function="b", host_only="c d")]),
    ):
        assert digest(content_of(one)) != digest(content_of(other))
        assert difference(content_of(one), content_of(other))


@pytest.mark.parametrize(
    ("suites", "words"),
    [
        (lambda: [suite(CASES), suite(CASES, "library")], None),
        (lambda: [suite(CASES), suite(CASES[:1])], "lists the suite 'paper' twice"),
        (lambda: [suite(CASES, "library"), suite([*CASES, CASES[3]])], "'paper' has two cases 'torch.cat/3'"),
    ],
)
def test_a_name_that_means_two_things_is_found(suites: Callable[[], list[CatalogueSuite]], words: str | None) -> None:
    message = ambiguity(Catalogue(suites=suites()))
    assert message is None if words is None else message is not None and words in message
