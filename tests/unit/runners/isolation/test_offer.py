"""What a runner keeps of its catalogue: the text as it was told in pieces, and the index of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.catalogue import Catalogue, CatalogueCase, CatalogueSuite
from protocol.enums import DEFAULT_TIMING, FIRST_USES, TimedCases, TimingPolicy
from protocol.limits import MAX_CASES, MAX_CATALOGUE_BYTES, MAX_SUITES
from runners.isolation.offer import Offer, OfferBuilder, SuiteIndex

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=9)
CASES = st.lists(st.builds(CatalogueCase, id=TEXTS, function=TEXTS, tags=st.lists(TEXTS, max_size=2)), max_size=9)
SUITES = st.lists(
    st.builds(
        CatalogueSuite,
        name=TEXTS,
        revision=TEXTS,
        timing=st.none() | st.sampled_from(TimingPolicy),
        timed_cases=st.none() | st.sampled_from(TimedCases),
        cases=CASES,
    ),
    max_size=4,
    unique_by=lambda suite: suite.name,
)


def offer_of(*pieces: CatalogueSuite) -> Offer:
    builder = OfferBuilder()
    for piece in pieces:
        builder.add(piece)
    return builder.build()


def pieces_of(suite: CatalogueSuite, size: int) -> list[CatalogueSuite]:
    starts = range(0, max(1, len(suite.cases)), size)
    return [suite.model_copy(update={"cases": suite.cases[start : start + size]}) for start in starts]


@given(SUITES, st.integers(1, 4))
def test_what_comes_in_pieces_is_the_catalogue(suites: list[CatalogueSuite], size: int) -> None:
    catalogue = Catalogue(suites=suites)
    offer = offer_of(*(piece for suite in suites for piece in pieces_of(suite, size)))
    assert offer.catalogue() == catalogue
    text = b"".join(offer.text())
    assert json.loads(text) == catalogue.model_dump(mode="json")
    assert offer.size == len(text)
    assert offer.suites == {
        suite.name: SuiteIndex(
            suite.revision,
            {case.id: case.function for case in suite.cases},
            suite.timing or DEFAULT_TIMING,
            frozenset(case.id for case in suite.cases if FIRST_USES & set(case.tags)),
        )
        for suite in suites
    }


def test_a_suite_listed_twice_stays_so() -> None:
    """Whoever registers the runner says that this is wrong."""
    first, second = (CatalogueSuite(name="paper", revision=revision, cases=[]) for revision in "12")
    assert offer_of(first, second).catalogue().suites == [first, second]


def test_a_large_catalogue_takes_a_tenth_of_its_text() -> None:
    cases = [CatalogueCase(id=f"torch.add/{n}", function="torch.add", tags=["plain", "float32"]) for n in range(20_000)]
    offer = offer_of(*pieces_of(CatalogueSuite(name="library", revision="1", cases=cases), 200))
    assert len(offer.compressed) < offer.size / 10


def test_more_than_a_catalogue_may_have_is_refused_in_words() -> None:
    few = [CatalogueCase(id=str(number), function="torch.add") for number in range(1_000)]
    piece = CatalogueSuite(name="library", revision="1", cases=few)
    with pytest.raises(ValueError, match=r"suite 'library' has more than 200,000 cases: make several suites of it"):
        offer_of(*[piece] * (MAX_CASES // len(few) + 1))
    with pytest.raises(ValueError, match="it has more than 1,000 suites: serve fewer suites"):
        offer_of(*(CatalogueSuite(name=str(n), revision="1", cases=[]) for n in range(MAX_SUITES + 1)))
    long = CatalogueCase(id="long", function="torch.add", tags=["x" * 1_000] * 1_000)
    with pytest.raises(ValueError, match="it has more than 64 MiB: offer fewer cases, or shorter tags"):
        offer_of(*[CatalogueSuite(name="library", revision="1", cases=[long])] * (MAX_CATALOGUE_BYTES // 1_000_000 + 1))
