"""``portolan up`` from start to end: files that it keeps, processes that it leaves, and errors that it reports."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

from coordinator.cli.directory import DEFAULT_PORT
from tests.portolan_process import Portolan, Up, wait_gone
from tests.waiting import until

NAP = ("submit", "--suite", "hazards", "--functions", "hazards.nap", "--wait", "--fail-on", "incomplete")


@pytest.fixture
def portolan(directory: Path) -> Portolan:
    """A data directory in which the database already exists, because creating it takes most of a first start."""
    return Portolan(directory.parent)


@pytest.fixture
def start(portolan: Portolan) -> Iterator[list[Up]]:
    """Starts processes, and stops them after the test even if the test fails."""
    instances: list[Up] = []
    yield instances
    for instance in instances:
        instance.stop(signal.SIGKILL)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind_and_the_next_start_finds_the_data(
    portolan: Portolan, start: list[Up], number: signal.Signals
) -> None:
    start.append(portolan.up("--targets", "hazards/cpu", "--port", "0", real=True))
    submit = ("submit", "--suite", "hazards", "--runs", "1", "--timing", "off")
    portolan.ask(*submit, "--functions", "hazards.add", "--wait")
    # The end comes in the middle of work, with processes that do not want to go.
    hanging = portolan.ask(*submit, "--functions", "hazards.hang_ignoring_signals").strip()
    until(lambda: json.loads(portolan.ask("runner", "list", "--json"))[0]["in_flight"], "it hangs")
    runners = [(load["id"], load["url"]) for load in json.loads(portolan.ask("runner", "list", "--json"))]
    family = start[0].family()
    assert {"postgres", "python"} <= {member.name().rstrip("0123456789.") for member in family}

    code = start[0].stop(number)
    wait_gone(family)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    assert "no portolan runs in" in portolan.refused("db", "url")

    start.append(portolan.up("--targets", "hazards/cpu", "--port", "0"))
    assert [(load["id"], load["url"]) for load in json.loads(portolan.ask("runner", "list", "--json"))] == runners
    campaign_states = {load["id"]: load["state"] for load in json.loads(portolan.ask("status", "--json"))}
    assert campaign_states == {1: "done", 2: "running"}
    portolan.ask("cancel", hanging)
    assert "1 of 1 function passes every case" in portolan.ask(*submit, "--functions", "hazards.nap", "--wait")


def test_a_runner_that_dies_is_started_again(portolan: Portolan, start: list[Up]) -> None:
    start.append(portolan.up("--targets", "hazards/cpu", "--port", "0"))
    start[0].runner().kill()
    start[0].wait_says("starting it again in 1 s")
    start[0].wait_says("runner ready again")
    assert "1 of 1 function passes every case" in portolan.ask(*NAP)


def test_a_runner_whose_port_is_taken_leaves_no_registration_behind(portolan: Portolan, start: list[Up]) -> None:
    start.append(portolan.up("--targets", "hazards/cpu", "--port", "0"))
    (before,) = json.loads(portolan.ask("runner", "list", "--json"))
    start[0].stop()
    with socket.create_server(("127.0.0.1", int(before["url"].rpartition(":")[2]))):
        start.append(portolan.up("--targets", "hazards/cpu", "--port", "0"))
        (after,) = json.loads(portolan.ask("runner", "list", "--json"))
    assert after["url"] != before["url"]
    assert "1 of 1 function passes every case" in portolan.ask(*NAP)


def test_an_instance_outlives_the_reader_of_what_it_says(portolan: Portolan, start: list[Up]) -> None:
    start.append(portolan.up("--targets", "hazards/cpu", "--port", "0"))
    start[0].close_reader()
    start[0].runner().kill()
    # It says that it starts the runner again, to nobody.
    until(lambda: portolan.call(*NAP).returncode == 0, "the runner serves again")


async def test_a_runner_that_cannot_be_registered_yet_is_not_given_up(portolan: Portolan, start: list[Up]) -> None:
    start.append(portolan.up("--targets", "hazards/cpu", "--port", "0"))
    runner = start[0].runner()
    connection = await asyncpg.connect(portolan.ask("db", "url", "--role", "migration").strip())
    try:
        await connection.execute("ALTER TABLE runners RENAME TO runners_away")
        runner.kill()
        start[0].wait_says("the runner could not be registered")
        await connection.execute("ALTER TABLE runners_away RENAME TO runners")
    finally:
        await connection.close()
    start[0].wait_says("runner ready again")
    assert "1 of 1 function passes every case" in portolan.ask(*NAP)


def test_a_target_that_cannot_be_served_is_named_and_left_out(portolan: Portolan, start: list[Up]) -> None:
    start.append(portolan.up("--targets", "hazards/absent", "--targets", "hazards/cpu", "--port", "0"))
    assert "hazards/absent: left out, hazards/absent is not available here" in start[0].said
    (runner,) = json.loads(portolan.ask("runner", "list", "--json"))
    assert runner["target"] == "hazards@1.0/cpu"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere/cpu", "there is no framework 'nowhere'; choose one of: "),
        ("hazards/cpuu", "framework 'hazards' has no device 'cpuu'; did you mean cpu?"),
        ("torch/xlaa", "framework 'torch' has no device 'xlaa'; did you mean xla?"),
    ],
)
@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_target_that_was_misspelt_is_refused_before_anything_starts(
    portolan: Portolan, command: str, target: str, words: str
) -> None:
    line = portolan.refused(command, "--targets", f"hazards/cpu {target}")
    assert line.startswith(f"portolan: {target}: {words}")


def test_a_port_in_use_is_told_and_the_next_start_heals(portolan: Portolan, start: list[Up]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        assert f"cannot listen on 127.0.0.1:{port}" in portolan.refused("up", "--port", port)
    start.append(portolan.up("--targets", "", "--port", port))
    assert f"http://127.0.0.1:{port}" in start[0].said


def test_a_demo_can_be_watched_whoever_has_its_port(portolan: Portolan) -> None:
    with contextlib.ExitStack() as holding:
        with contextlib.suppress(OSError):  # somebody may have it already
            holding.enter_context(socket.create_server(("127.0.0.1", DEFAULT_PORT)))
        process = portolan.call("demo", "--targets", "hazards/absent")
    assert process.returncode == 2
    (port,) = re.findall(r"watch it at http://127\.0\.0\.1:(\d+)", process.stderr)
    assert int(port) != DEFAULT_PORT


def test_a_directory_that_another_instance_holds_is_told(portolan: Portolan, start: list[Up]) -> None:
    start.append(portolan.up("--targets", "", "--port", "0"))
    assert f"held by another portolan (pid {start[0].process.pid})" in portolan.refused("up", "--port", "0")
    assert start[0].process.poll() is None


def test_a_database_of_ones_own_is_used(portolan: Portolan, start: list[Up], new_database: object) -> None:
    assert callable(new_database)
    dsn = new_database("template1")
    start.append(portolan.up("--targets", "", "--port", "0", "--database", dsn))
    assert portolan.ask("db", "url").strip() == dsn
    assert not [member for member in start[0].family() if member.name() == "postgres"]


def test_a_database_that_does_not_answer_is_told(portolan: Portolan) -> None:
    message = portolan.refused("up", "--port", "0", "--database", "postgresql://nobody@127.0.0.1:1/nothing")
    assert "127.0.0.1:1/nothing cannot be used" in message
    message = portolan.refused("up", "--port", "0", "--database", "user:secret@host/nothing")
    assert "the DSN of the database is not a URL: write it like postgresql://user@host:5432/database" in message
    assert "secret" not in message


def test_a_directory_that_cannot_be_written_is_told(place: Path) -> None:
    (place / "file").write_text("no directory")
    message = Portolan(place / "file" / "data").refused("up", "--port", "0")
    assert str(place / "file") in message


def test_a_file_is_no_data_directory(place: Path) -> None:
    (place / "file").write_text("no directory")
    message = Portolan(place / "file").refused("up", "--port", "0")
    assert f"the data directory {place / 'file'} is a file: choose another with --data-dir" in message


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
def test_a_full_disk_is_told_and_the_next_start_heals(place: Path) -> None:
    small = place / "small"
    small.mkdir()
    if os.system(f"mount -t tmpfs -o size=20m,mode=711 none {small} 2>/dev/null") != 0:
        pytest.skip("this machine does not let us mount a file system")
    try:
        portolan = Portolan(small / "data")
        before = psutil.pids()
        assert "no space left" in portolan.refused("up", "--port", "0")
        assert not [pid for pid in set(psutil.pids()) - set(before) if _is_postgres_in(pid, small)]
        assert os.system(f"mount -o remount,size=500m {small}") == 0
        assert portolan.up("--targets", "", "--port", "0").stop() == 0
    finally:
        os.system(f"umount {small}")


def _is_postgres_in(pid: int, folder: Path) -> bool:
    try:
        process = psutil.Process(pid)
        return process.name() == "postgres" and process.cwd().startswith(str(folder))
    except psutil.Error:
        return False


@pytest.mark.parametrize(
    ("variable", "text"), [("PORTOLAN_TIMES", "silence_s=never"), ("PORTOLAN_LIMITS", "exports=no")]
)
def test_a_setting_that_cannot_be_read_is_refused_before_anything_starts(
    tmp_path: Path, variable: str, text: str
) -> None:
    portolan = Portolan(tmp_path, **{variable: text})
    assert variable in portolan.refused("up", "--targets", "hazards/cpu", "--port", "0")
    assert list(tmp_path.iterdir()) == []
