"""The queue of the parts: none waits for a free slot, and a number that shrinks fails."""

from __future__ import annotations

import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.parts.census import Census, FileCost, read
from tests.parts.durations import written
from tests.parts.plan import Part, parts, startable
from tests.parts.record import PartRecord, Record
from tests.parts.sizes import Size, complaint, read_sizes, written_sizes

CORES = 2
SLOTS = CORES + 1
EVERY = parts(CORES)


@given(st.permutations(EVERY), st.dictionaries(st.sampled_from([part.name for part in EVERY]), st.floats(1, 1000)))
def test_every_part_runs_once_and_no_more_at_a_time_than_there_are_slots(
    waiting: list[Part], seconds: dict[str, float]
) -> None:
    ran: list[str] = []
    running: list[Part] = []
    while waiting or running:
        starts = startable(waiting, running, SLOTS, seconds)
        assert starts or running, "nothing runs and nothing starts"
        running += starts
        waiting = [part for part in waiting if part not in starts]
        assert sum(part.workers for part in running) <= SLOTS
        ran.append(running.pop(0).name)
    assert sorted(ran) == sorted(part.name for part in EVERY)


def test_of_the_parts_that_fit_the_longest_starts_first() -> None:
    short, long = Part("short"), Part("long")
    assert startable([short, long], [], 1, {"short": 1.0, "long": 2.0}) == [long]


def test_beside_the_first_one_part_runs_and_what_waits_for_an_engine() -> None:
    seconds = {"coordinator": 900.0, "jax": 300.0, "torch": 100.0}
    assert [part.name for part in startable(EVERY, [], SLOTS, seconds)] == ["faults", "jax", "containers"]


def test_a_number_of_tests_that_shrinks_fails_and_says_what_to_do() -> None:
    size = Size(tests=10, members=5)
    assert complaint(size, size, grown_by_change=False) is None
    for smaller in (Size(9, 5), Size(10, 4), Size(0, 0), Size(12, 4)):
        assert "10 and about 5 are written down" in (complaint(size, smaller, grown_by_change=True) or "")
    assert "make test-sizes" in (complaint(size, Size(11, 5), grown_by_change=False) or "")
    assert "make test-sizes" in (complaint(None, size, grown_by_change=False) or "")


def test_a_change_of_a_suite_may_have_more_in_its_draws() -> None:
    assert complaint(Size(10, 5), Size(11, 9), grown_by_change=True) is None


def test_sizes_and_durations_can_be_read_again() -> None:
    sizes = {1: {"torch": Size(3, 4)}, 2: {"torch": Size(30, 40), "jax": Size(1, 0)}}
    tables = tomllib.loads(written_sizes(sizes))
    assert tables["level-2"]["torch"] == {"tests": 30, "members": 40}
    part = PartRecord(tests=2, members=0, wall_s=9.6, cpu_s=5.0, files={"a.py": (1, 9.0, 4.0), "b.py": (1, 0.5, 0.5)})
    record = Record(level=1, cores=2, wall_s=10.0, idle_s=1.0, parts={"torch": part})
    assert tomllib.loads(written(record)) == {"parts": {"torch": 10}, "files": {"a.py": 9}}


def test_every_part_with_tests_has_its_sizes_written_down() -> None:
    names = {part.name for part in EVERY if not part.program}
    assert {level: set(sizes) for level, sizes in read_sizes().items()} == {1: names, 2: names}


def test_what_the_processes_of_a_part_counted_is_added_up(tmp_path: Path) -> None:
    for number in (1, 2):
        census = Census(members=number)
        census.add("a.py", FileCost(number, 1.0, 0.5))
        (tmp_path / f"{number}.json").write_text(census.written())
    total = read(tmp_path)
    assert (total.tests, total.members, total.files["a.py"].wall_s) == (3, 3, 2.0)
