"""Only as many idle sessions ask for jobs as there are jobs, and each is sometimes the first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coordinator.dispatch.waiting_work import RunnerOffer, choose

OFFERS = st.builds(RunnerOffer, st.integers(1, 3), st.integers(1, 2))
IDLE = st.lists(st.lists(OFFERS, max_size=3), max_size=20).map(lambda offers: list(enumerate(offers)))


@given(st.dictionaries(OFFERS, st.integers(0, 10)), IDLE, st.integers(0, 100))
def test_nobody_asks_for_what_is_not_there_and_nothing_is_left_that_one_could_do(
    waiting: dict[RunnerOffer, int], idle: list[tuple[int, list[RunnerOffer]]], begin: int
) -> None:
    chosen_runners = list(choose(waiting, idle, begin))
    assert len(chosen_runners) == len(set(chosen_runners))
    assert len(chosen_runners) <= sum(waiting.values())
    for offer, jobs in waiting.items():
        able = [name for name, offers in idle if offer in offers]
        if jobs >= len(able):
            assert set(able) <= set(chosen_runners), "there is work for all of them"


def test_each_is_the_first_in_its_turn() -> None:
    offer = RunnerOffer(1, 1)
    idle = [(name, [offer]) for name in "abc"]
    assert [list(choose({offer: 1}, idle, turn)) for turn in range(4)] == [["a"], ["b"], ["c"], ["a"]]
