"""The level and the seed decide which tests run, and a check of a list reports every failing member."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests import each, levels

SIZES = st.integers(min_value=0, max_value=500)
SHARES = st.integers(min_value=1, max_value=20)


def sample(size: int, share: int, seed: str = "a", level: int = 1, purpose: str = "mutants") -> list[int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(levels.SEED_VARIABLE, seed)
        patch.setattr(levels, "LEVEL", level)
        return levels.drawn(range(size), share, purpose)


@given(SIZES, SHARES, st.text("abcdef0123456789", min_size=1))
def test_a_sample_has_its_share_of_the_members_in_their_order(size: int, share: int, seed: str) -> None:
    members = sample(size, share, seed)
    assert len(members) == math.ceil(size / share)
    assert members == sorted(set(members) & set(range(size)))


@given(SIZES, SHARES)
def test_one_seed_draws_one_sample(size: int, share: int) -> None:
    assert sample(size, share) == sample(size, share)


@given(SIZES, SHARES)
def test_level_2_takes_every_member(size: int, share: int) -> None:
    assert sample(size, share, level=2) == list(range(size))


@given(st.integers(min_value=1000, max_value=1500), st.integers(min_value=0))
def test_ten_changes_check_nine_tenths_of_a_list_that_each_draws_a_quarter_of(size: int, first: int) -> None:
    members: set[int] = set()
    for seed in range(first, first + 10):
        members.update(sample(size, 4, str(seed)))
    assert len(members) > 0.9 * size


@given(st.integers(min_value=100, max_value=500))
def test_samples_for_two_purposes_are_independent(size: int) -> None:
    assert sample(size, 4) != sample(size, 4, purpose="refusals")


@given(SIZES, SHARES, st.integers(min_value=0, max_value=499))
def test_a_member_that_the_change_touches_is_always_in_the_sample(size: int, share: int, member: int) -> None:
    assume(member < size)
    members = levels.drawn(range(size), share, "mutants", always=lambda one: one == member)
    assert member in members
    assert members == sorted(members)


TESTS = """
import pytest
from tests.each import check_each
from tests.levels import LEVEL, drawn

@pytest.mark.level(2)
def test_long(): pass

@pytest.mark.drawn(4)
@pytest.mark.parametrize("number", range(40))
def test_repeated(number): pass

def test_list():
    check_each(drawn(range(40), 4, "numbers"), lambda number: None)
    print("sample", drawn(range(40), 4, "numbers"))
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Run a test file in a separate process."""
    (tmp_path / "test_numbers.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -rP\n")

    def run(*options: str, **variables: str) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PORTOLAN_TEST_")}
        process = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "tests.levels", *options, "test_numbers.py"],
            cwd=tmp_path,
            # The plugins of the project's environment take seconds to import.
            env=environment | {"PYTHONPATH": str(levels.ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return process.stdout + process.stderr

    return run


def test_level_1_deselects_what_needs_level_2_and_what_is_not_drawn(run: Callable[..., str]) -> None:
    output = run(PORTOLAN_TEST_SEED="a")
    assert "11 passed, 31 deselected" in output
    assert "level 1 of 2, drawn by seed a (repeat it with PORTOLAN_TEST_SEED=a)" in output
    assert "members checked: 10" in output


def test_level_2_runs_every_test(run: Callable[..., str]) -> None:
    output = run(PORTOLAN_TEST_LEVEL="2")
    assert "42 passed" in output
    assert "members checked: 40" in output


def test_another_level_is_refused_in_one_line(run: Callable[..., str]) -> None:
    assert "ERROR: PORTOLAN_TEST_LEVEL='3' is no level: set it to 1 or 2" in run(PORTOLAN_TEST_LEVEL="3")


def test_every_process_draws_the_same_and_the_members_of_all_are_counted(run: Callable[..., str]) -> None:
    alone = run("--no-header", PORTOLAN_TEST_SEED="b")
    parallel = run("-p", "xdist", "--numprocesses", "2", PORTOLAN_TEST_SEED="b")
    samples = [re.findall(r"^sample .*|\d+ passed", output, re.MULTILINE) for output in (alone, parallel)]
    assert samples[0] == samples[1] != []
    assert "members checked: 10" in parallel


def test_what_was_asked_for_by_name_is_never_drawn_away(run: Callable[..., str]) -> None:
    assert "1 passed" in run("-k", "test_repeated and 17")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A repository with two commits, used in place of the project's. Yields the arguments of git for it."""
    monkeypatch.setattr(levels, "ROOT", tmp_path)
    for variable in (levels.SEED_VARIABLE, levels.BASE_VARIABLE, levels.TOUCHED_VARIABLE):
        monkeypatch.delenv(variable, raising=False)

    def git(*arguments: str) -> str:
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(tmp_path), *author, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    git("init", "--initial-branch", "main")
    for name in ("first", "second"):
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "--message", name)
    return git


def touched_files() -> frozenset[str]:
    levels.touched.cache_clear()
    return levels.touched()


def seed() -> str:
    levels._seed_of_commit.cache_clear()
    return levels.seed()


def test_the_seed_is_the_commit_and_what_is_changed_on_it(repository: Callable[..., str], tmp_path: Path) -> None:
    commit = repository("rev-parse", "HEAD")[:12]
    assert seed() == commit
    (tmp_path / "first").write_text("changed")
    assert re.fullmatch(rf"{commit}-[0-9a-f]{{8}}", seed())


def test_without_git_the_seed_is_a_word_and_nothing_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "ROOT", tmp_path)
    for variable in (levels.SEED_VARIABLE, levels.TOUCHED_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    assert (seed(), touched_files()) == (levels.WITHOUT_GIT, frozenset())


def test_the_change_is_the_last_commit_and_what_is_not_committed(
    repository: Callable[..., str], tmp_path: Path
) -> None:
    assert touched_files() == {"second"}
    (tmp_path / "first").write_text("changed")
    (tmp_path / "third").write_text("third")
    assert touched_files() == {"first", "second", "third"}


def test_a_module_with_other_words_alone_is_not_touched(repository: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text('"""Before."""\n\nclass A:\n    b = 1\n    """One."""\n')
    repository("add", "module.py")
    repository("commit", "--message", "module")
    (tmp_path / "module.py").write_text('"""After."""\n\n\nclass A:  # why\n    b = 1\n    """1."""\n')
    repository("commit", "--all", "--message", "words")
    assert touched_files() == frozenset()
    (tmp_path / "module.py").write_text('"""After."""\n\nclass A:\n    b = "2"\n')
    assert touched_files() == {"module.py"}


def test_a_module_that_is_gone_or_does_not_parse_is_touched(repository: Callable[..., str], tmp_path: Path) -> None:
    for name in ("gone.py", "broken.py"):
        (tmp_path / name).write_text("1")
        repository("add", name)
    repository("commit", "--message", "modules")
    repository("commit", "--allow-empty", "--message", "base of the change")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "broken.py").write_text("1 +")
    assert touched_files() >= {"gone.py", "broken.py"}


def test_a_stored_list_of_touched_files_is_taken(
    repository: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = tmp_path / "touched.txt"
    stored.write_text("\n".join(sorted(touched_files())))
    (tmp_path / "first").write_text("changed")
    monkeypatch.setenv(levels.TOUCHED_VARIABLE, str(stored))
    assert touched_files() == {"second"}


def test_the_content_before_the_change_is_that_of_its_base(repository: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "first").write_bytes(b"\xff")
    repository("commit", "--all", "--message", "bytes")
    assert (levels.content_before("first"), levels.content_before("third")) == (b"first", None)


def test_the_change_is_what_the_upstream_does_not_have(repository: Callable[..., str], tmp_path: Path) -> None:
    repository("switch", "--create", "branch", "--track", "main")
    for name in ("third", "fourth"):
        (tmp_path / name).write_text(name)
        repository("add", name)
        repository("commit", "--message", name)
    assert touched_files() == {"third", "fourth"}


def test_the_base_of_the_change_can_be_set(repository: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(levels.BASE_VARIABLE, "HEAD")
    assert touched_files() == frozenset()
    monkeypatch.setenv(levels.BASE_VARIABLE, "0000000")
    assert touched_files() == frozenset()


def odd(number: int) -> None:
    assert number % 2, f"{number} is even"


def test_a_claim_over_a_list_fails_once_and_names_every_failing_member() -> None:
    before = each.count
    with pytest.raises(pytest.fail.Exception) as failure:
        each.check_each(range(1, 100), odd, name="number {}".format)
    assert each.count == before + 99
    assert "49 of 99 fail:\n  number 2: AssertionError: 2 is even" in str(failure.value)
    assert all(f"number {number}" in str(failure.value) for number in range(2, 100, 2))
    assert "number 3:" not in str(failure.value)


def test_a_claim_over_nothing_is_an_error() -> None:
    with pytest.raises(each.EmptyListError):
        each.check_each([], odd)


def test_a_member_that_is_passed_over_is_not_counted() -> None:
    before = each.count

    def check(number: int) -> None:
        if number:
            pytest.skip("it has no result here")

    each.check_each([0, 1, 2], check)
    assert each.count == before + 1
    with pytest.raises(pytest.skip.Exception, match="1: it has no result here"):
        each.check_each([1, 2], check)
