"""Which runner may have a name and a URL, decided from the registered runners and from the boots that respond."""

from __future__ import annotations

import pytest

from coordinator.errors import ConflictError
from coordinator.registry.enrolment import Takeover, decide_takeover, find_doubtful
from coordinator.registry.store import Registration
from protocol.enrolment import Enrolment

HERE = "http://here:8790"
ELSEWHERE = "http://elsewhere:8790"
ASKED = Enrolment(name="alpha", url=HERE, secret="provisional")
BOOT = "boot-of-the-caller"


def decide(*registrations: Registration, answering: dict[Registration, str | None] | None = None) -> Takeover:
    return decide_takeover(ASKED, BOOT, frozenset(registrations), answering or {})


def test_a_new_name_at_a_new_url_is_a_new_registration() -> None:
    assert decide() == Takeover(None, ())


def test_the_same_name_at_the_same_url_is_the_same_registration_without_a_question() -> None:
    registration = Registration(1, "alpha", HERE, "s")
    assert find_doubtful(ASKED, frozenset({registration})) == []
    assert decide(registration) == Takeover(1, ())


def test_a_url_that_somebody_registered_without_a_name_is_adopted() -> None:
    registration = Registration(1, None, HERE, "s")
    assert find_doubtful(ASKED, frozenset({registration})) == []
    assert decide(registration) == Takeover(1, ())


@pytest.mark.parametrize("boot", [None, BOOT])
def test_a_name_whose_old_url_is_silent_or_the_same_process_moves(boot: str | None) -> None:
    registration = Registration(1, "alpha", ELSEWHERE, "s")
    assert decide(registration, answering={registration: boot}) == Takeover(1, ())


def test_a_name_whose_runner_answers_elsewhere_is_refused() -> None:
    registration = Registration(1, "alpha", ELSEWHERE, "s")
    with pytest.raises(ConflictError, match=f"alpha belongs to the runner at {ELSEWHERE}, which is alive"):
        decide(registration, answering={registration: "another boot"})


def test_a_url_at_which_two_runners_answer_is_refused() -> None:
    registration = Registration(1, "beta", HERE, "s")
    with pytest.raises(ConflictError, match=f"the runner beta answers at {HERE} too"):
        decide(registration, answering={registration: "another boot"})


@pytest.mark.parametrize("boot", [None, BOOT])
def test_a_url_whose_runner_of_another_name_is_gone_is_taken_over(boot: str | None) -> None:
    registration = Registration(1, "beta", HERE, "s")
    assert decide(registration, answering={registration: boot}) == Takeover(None, (1,))


def test_a_runner_that_moves_to_a_gone_runners_url_keeps_its_own_registration() -> None:
    mine, gone_runner = Registration(2, "alpha", ELSEWHERE, "s"), Registration(1, "beta", HERE, "t")
    assert decide(mine, gone_runner, answering={mine: None, gone_runner: None}) == Takeover(2, (1,))


def test_a_runner_that_moves_to_a_url_without_a_name_keeps_its_own_registration() -> None:
    mine, unnamed_runner = Registration(1, "alpha", ELSEWHERE, "s"), Registration(2, None, HERE, "t")
    assert decide(mine, unnamed_runner, answering={mine: None}) == Takeover(1, (2,))
