"""Untimed cases run beside each other, and a slot that has to be alone is, however they come and go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runners.isolation.slot_lock import SlotLock

SLOTS = range(4)


@given(st.lists(st.tuples(st.sampled_from(["share", "alone", "release"]), st.sampled_from(SLOTS)), max_size=40))
def test_nobody_is_at_work_beside_one_that_is_alone(visits: list[tuple[str, int]]) -> None:
    lock, sharing, alone = SlotLock(), set[int](), set[int]()
    for kind, slot in visits:
        if kind == "release":
            lock.release(slot)
            sharing.discard(slot)
            alone.discard(slot)
        elif kind == "share" and slot not in alone:
            if lock.share(slot):
                sharing.add(slot)
        elif kind == "alone":
            sharing.discard(slot)
            if lock.hold_alone(slot):
                alone.add(slot)
        assert len(alone) + bool(sharing) <= 1
    for slot in SLOTS:
        lock.release(slot)
    assert not lock.is_asked_for
    assert lock.hold_alone(0)


def test_one_that_waits_to_be_alone_goes_before_others_that_share() -> None:
    lock = SlotLock()
    assert lock.share(1)
    assert not lock.hold_alone(0)
    assert lock.is_asked_for
    assert not lock.share(2)
    assert lock.share(1)
    lock.release(1)
    assert not lock.share(2)
    assert lock.hold_alone(0)
    assert not lock.is_asked_for


def test_one_that_asks_no_longer_holds_up_nobody() -> None:
    lock = SlotLock()
    assert lock.share(1)
    assert not lock.hold_alone(0)
    lock.release(0)
    assert lock.share(2)
