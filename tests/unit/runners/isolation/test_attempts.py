"""What a posted attempt is answered."""

from __future__ import annotations

import pytest

from protocol.jobs import Job, JobStatus
from runners.isolation.attempts import Attempts, Task


def task(id: str = "job", attempt: int = 1, *, suite: str = "paper", case: str = "sort/0", run: int = 1) -> Task:
    return Task(Job(id=id, attempt=attempt, case=case, run=run, timeout_s=1), suite, "sort")


@pytest.mark.parametrize(
    ("attempt", "status"),
    [(1, JobStatus.stale_attempt), (2, JobStatus.known), (3, JobStatus.queued)],
)
def test_only_a_newer_attempt_is_new(attempt: int, status: JobStatus) -> None:
    attempts = Attempts(queue_limit=4)
    attempts.add(task(attempt=2))
    assert attempts.answer(task(attempt=attempt), queue_length=0) is status


@pytest.mark.parametrize("attempt", [1, 2, 3])
@pytest.mark.parametrize(
    "other", [{"case": "sort/1"}, {"suite": "library"}, {"run": 2}], ids=lambda other: next(iter(other))
)
def test_an_id_stands_for_one_case(attempt: int, other: dict[str, object]) -> None:
    attempts = Attempts(queue_limit=4)
    attempts.add(task(attempt=2))
    assert attempts.answer(task(attempt=attempt, **other), queue_length=0) is JobStatus.other_case  # type: ignore[arg-type]


def test_a_full_queue_refuses_the_new_and_knows_the_old() -> None:
    attempts = Attempts(queue_limit=4)
    attempts.add(task("old"))
    assert attempts.answer(task("new"), queue_length=3) is JobStatus.queued
    assert attempts.answer(task("new"), queue_length=4) is JobStatus.full
    assert attempts.answer(task("old"), queue_length=4) is JobStatus.known


def test_a_replaced_attempt_is_named_and_its_end_forgets_nothing() -> None:
    attempts = Attempts(queue_limit=4)
    assert attempts.add(task()) is None
    assert attempts.add(task(attempt=2)) == ("job", 1)
    attempts.forget([("job", 1)])
    assert attempts.answer(task(attempt=2), queue_length=0) is JobStatus.known
    attempts.forget([("job", 2)])
    assert len(attempts) == 0
