"""Job ids in requests to runners."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from coordinator.dispatch.leases import Key

KEYS = st.builds(Key, st.integers(1, 2**59), st.integers(1, 2**15 - 1), st.from_regex(r"[0-9a-f]{16}", fullmatch=True))


@given(KEYS)
def test_an_id_names_its_lease_and_fits_the_contract(key: Key) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", key.wire_id)
    assert Key.of_wire(key.wire_id, key.attempt) == key


@given(st.text(max_size=80), st.integers(-(2**70), 2**70))
def test_whatever_a_runner_calls_a_job_names_it_again(id: str, attempt: int) -> None:
    assert Key.of_wire(id, attempt).wire_id == id


def test_what_older_databases_gave_out_is_nobodys() -> None:
    assert Key.of_wire("17", 1).job == 0
    assert Key.of_wire(".17", 1).job == 0
    assert Key.of_wire("a.017", 1).job == 0
    assert Key.of_wire("a.17", 2**15).job == 0
