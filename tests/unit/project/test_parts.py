"""The queue of the parts: no part waits while a slot is free, and a number of tests that shrinks is an error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import levels
from tests.parts import quotations, rotation
from tests.parts.census import Census, FileCost, read
from tests.parts.durations import Durations, merge
from tests.parts.plan import Part, parts, startable
from tests.parts.record import PartRecord, Record
from tests.parts.sizes import Size, complaint, read_sizes, sizes_as_toml

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
        assert "sizes.toml has 10 and about 5" in (complaint(size, smaller, grown_by_change=True) or "")
    assert "make test-sizes" in (complaint(size, Size(11, 5), grown_by_change=False) or "")
    assert "make test-sizes" in (complaint(None, size, grown_by_change=False) or "")


def test_a_change_of_a_suite_may_have_more_in_its_draws() -> None:
    assert complaint(Size(10, 5), Size(11, 9), grown_by_change=True) is None


def test_sizes_and_durations_can_be_read_again() -> None:
    sizes = {1: {"torch": Size(3, 4)}, 2: {"torch": Size(30, 40), "jax": Size(1, 0)}}
    tables = tomllib.loads(sizes_as_toml(sizes))
    assert tables["level-2"]["torch"] == {"tests": 30, "members": 40}
    files = {"a.py": (1, 9.0, 4.0), "b.py": (1, 0.5, 0.5)}
    part = PartRecord(tests=2, resting=0, members=0, wall_s=9.6, cpu_s=5.0, files=files)
    record = Record(level=1, cores=2, wall_s=10.0, idle_s=1.0, parts={"torch": part})
    before = Durations({"jax": 20.0}, {"a.py": 5.0, "b.py": 5.0, "c.py": 5.0})
    kept_durations = tomllib.loads(merge(record, before))
    assert kept_durations == {"parts": {"jax": 20, "torch": 10}, "files": {"a.py": 9, "c.py": 5}}


def test_every_part_with_tests_has_its_sizes_written_down() -> None:
    names = {part.name for part in EVERY if not part.program}
    assert {level: set(sizes) for level, sizes in read_sizes().items()} == {1: names, 2: names}


def test_what_the_processes_of_a_part_counted_is_added_up(tmp_path: Path) -> None:
    for number in (1, 2):
        census = Census(members=number, resting=7)
        census.add("a.py", FileCost(number, 1.0, 0.5))
        (tmp_path / f"{number}.json").write_text(census.to_json())
    total = read(tmp_path)
    assert (total.tests, total.members, total.files["a.py"].wall_s) == (3, 3, 2.0)
    assert total.resting == 7, "each process counted the same tests"


FILES = st.dictionaries(st.from_regex(r"tests/[a-z]{1,8}\.py", fullmatch=True), st.floats(0, 200), max_size=60)


def rest_files(files: dict[str, float], seed: str, near: str = "") -> frozenset[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "LEVEL", 1)
        return rotation.resting_files(files, files, seed, lambda file: file == near)


@given(FILES, st.text("abcdef0123456789", min_size=1))
def test_a_change_runs_a_third_of_the_files(files: dict[str, float], seed: str) -> None:
    assert len(files) - len(rest_files(files, seed)) == -(-len(files) // rotation.SHARE)


@given(FILES.filter(bool), st.integers(0))
def test_a_file_about_what_the_change_touches_never_rests(files: dict[str, float], seed: int) -> None:
    near = min(files)
    assert near not in rest_files(files, str(seed), near)


def test_ten_changes_run_nine_tenths_of_the_files() -> None:
    files = {f"tests/test_{number}.py": float(number) for number in range(150)}
    never = frozenset(files)
    for seed in range(10):
        never &= rest_files(files, str(seed))
    assert len(never) < 0.1 * len(files)


def test_at_level_2_no_file_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "LEVEL", 2)
    assert rotation.resting_files(["tests/a.py", "tests/b.py"], {}, "a", lambda file: False) == frozenset()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("tests/faults/dispatch/test_stuck.py", ""),
        ("tests/acceptance/test_dispatch.py", ""),
        ("tests/integration/coordinator/campaigns/test_followed.py", "from coordinator.dispatch.queue import claim\n"),
    ],
)
def test_a_file_is_about_a_module_whose_package_it_is_named_after_or_that_it_imports(file: str, text: str) -> None:
    assert rotation.is_near(file, text, {"coordinator/dispatch/queue.py"})
    assert not rotation.is_near(file, text, {"coordinator/web/pages.py", "docs/dispatch/page.md"})
    assert rotation.is_near(file, text, {file})


@pytest.mark.parametrize(
    ("changed_file", "near"),
    [
        ("runners/suite/checks.py", True),
        ("runners/torch/devices.py", True),
        ("runners/torch/lock.txt", True),
        ("protocol/outcomes.py", True),
        ("tests/frameworks/common/promises.py", True),
        ("tests/frameworks/torch/test_cases.py", False),
        ("runners/jax/devices.py", False),
        ("tests/frameworks/jax/arrays.py", False),
        ("coordinator/dispatch/queue.py", False),
    ],
)
def test_the_tests_of_a_framework_are_about_all_that_its_runner_is_made_of(changed_file: str, near: bool) -> None:
    assert rotation.is_near("tests/frameworks/torch/test_placement.py", "", {changed_file}) == near


DIFF = """\
--- a/coordinator/cli/fleet_commands.py
+++ b/coordinator/cli/fleet_commands.py
-        raise FleetError(f"{names} cannot be stopped: restart the engine within {limit_s} s")
+        raise FleetError(f"{names} goes on: restart the host")
-    \"""Containers that cannot be told from others.\"""
--- a/coordinator/web/templates/fleet.html
+++ b/coordinator/web/templates/fleet.html
-<p>No runner has <b>answered</b> since {{ then }}</p>
"""


def test_a_test_that_quotes_words_which_a_change_takes_out_is_found() -> None:
    phrases = quotations.find_removed_phrases([DIFF])
    assert phrases == {
        "# cannot be stopped:",
        "cannot be stopped: restart",
        "be stopped: restart the",
        "stopped: restart the engine",
        "restart the engine within",
        "the engine within #",
        "engine within # s",
    }
    assert quotations.quotes('assert "restart the engine within 30 s" in done.stderr\n', phrases)
    assert not quotations.quotes('assert "cannot be stopped" in done.stderr  # restart the engine within 30 s', phrases)
    assert not quotations.quotes('assert "goes on: restart the host" in done.stderr\n', phrases)


def test_words_that_a_later_commit_puts_back_are_still_there() -> None:
    put_back = '--- a/a.py\n+++ b/a.py\n+    say("restart the engine within a minute")\n'
    phrases = quotations.find_removed_phrases([DIFF, put_back])
    assert "restart the engine within" not in phrases
    assert "stopped: restart the engine" in phrases
    assert "restart the engine within" in quotations.find_removed_phrases([put_back, DIFF])


def test_a_phrase_of_a_page_ends_at_its_tags() -> None:
    assert list(quotations.phrases_of("<p>No runner has ever <b>answered</b> {{ word }}</p>", ".html")) == [
        "No runner has ever"
    ]


def test_the_tests_by_which_a_promise_is_shown_are_found() -> None:
    promised_tests = rotation.promised_tests(rotation.PROMISES.read_text())
    assert ("tests/faults/dispatch/test_stuck.py", "test_a_job_that_is_refused_for_ever_is_given_up") in promised_tests


def test_members_are_missed_only_where_no_test_rests() -> None:
    assert complaint(Size(10, 5), Size(10, 0), grown_by_change=False, is_whole=False) is None
    assert complaint(Size(10, 5), Size(10, 0), grown_by_change=False) is not None


def test_a_run_leaves_files_to_other_changes_but_not_what_is_promised(tmp_path: Path) -> None:
    """This test uses a separate process and the project's own tests of dispatch."""
    folder = "tests/faults/dispatch"
    command = ["-m", "pytest", "-p", "tests.parts.rotation", "--collect-only", "--quiet", folder]
    # Otherwise the working tree would decide, whose changes may concern all files of the folder.
    touched_files = tmp_path / "touched"
    touched_files.write_text("README.md\n")
    variables = {
        **os.environ,
        levels.TOUCHED_VARIABLE: str(touched_files),
        levels.SEED_VARIABLE: "a",
        levels.LEVEL_VARIABLE: "1",
    }
    process = subprocess.run(
        [sys.executable, *command], cwd=levels.ROOT, env=variables, capture_output=True, text=True, check=True
    )
    collected_tests = set(re.findall(r"^(tests/\S+\.py)::(\w+)", process.stdout, re.MULTILINE))
    promised_tests = {
        test for test in rotation.promised_tests(rotation.PROMISES.read_text()) if test[0].startswith(folder)
    }
    assert collected_tests > promised_tests
    assert re.search(r"\d+/\d+ tests collected \(\d+ deselected\)", process.stdout)
