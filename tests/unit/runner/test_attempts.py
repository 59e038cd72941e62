"""What a posted attempt is answered."""

from __future__ import annotations

import pytest

from protocol.jobs import JobStatus
from runners.attempts import Attempts


@pytest.mark.parametrize(
    ("attempt", "status"),
    [(1, JobStatus.stale_attempt), (2, JobStatus.known), (3, JobStatus.queued)],
)
def test_only_a_newer_attempt_is_new(attempt: int, status: JobStatus) -> None:
    attempts = Attempts(queue_limit=4)
    attempts.add("job", 2)
    assert attempts.answer("job", attempt, queued=0) is status


def test_a_full_queue_refuses_the_new_and_knows_the_old() -> None:
    attempts = Attempts(queue_limit=4)
    attempts.add("old", 1)
    assert attempts.answer("new", 1, queued=3) is JobStatus.queued
    assert attempts.answer("new", 1, queued=4) is JobStatus.full
    assert attempts.answer("old", 1, queued=4) is JobStatus.known


def test_a_replaced_attempt_is_named_and_its_end_forgets_nothing() -> None:
    attempts = Attempts(queue_limit=4)
    assert attempts.add("job", 1) is None
    assert attempts.add("job", 2) == 1
    attempts.forget([("job", 1)])
    assert attempts.answer("job", 2, queued=0) is JobStatus.known
    attempts.forget([("job", 2)])
    assert len(attempts) == 0
