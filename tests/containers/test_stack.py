"""``compose.yaml`` as a stack on a real swarm of three engines: runners are isolated as with Compose, and a dead engine
loses nothing.

The program that ``PORTOLAN_SWARM`` names makes the swarm; ``swarm.py`` describes this program.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.stack import service
from tests.containers.inspection import ASK, ENROLMENT_ALONE, look_inside, shortcomings
from tests.containers.swarm import COORDINATOR, ENGINES, PROGRAM, Stack, Swarm, output_of
from tests.runner_process import ROOT
from tests.waiting import until

IMAGES = (COORDINATOR, "postgres:17-trixie", "portolan/runner-hazards:test", "portolan/jax-cpu:latest")
STARTS_WITHIN_S = 400.0
MOVES_WITHIN_S = 400.0
ENDS_WITHIN_S = 400.0
RUNNERS = ("hazards", "jax-cpu")
NAMES = {"replica-1-hazards-cpu", "replica-1-jax-cpu"}


@pytest.fixture(scope="module")
def swarm(docker: list[str]) -> Iterator[Swarm]:
    if not os.environ.get(PROGRAM):
        pytest.skip(f"{PROGRAM} names no program that makes a swarm of several engines here")
    # Not before: without a swarm they are not needed.
    subprocess.run([sys.executable, "scripts/images.py", "coordinator", "runner", "jax-cpu"], cwd=ROOT, check=True)
    hazards = ["--tag", IMAGES[2], "--file", "tests/containers/hazards.Dockerfile", "tests/hazards"]
    subprocess.run([*docker, "build", "--quiet", *hazards], cwd=ROOT, check=True)
    with Swarm(IMAGES) as swarm:
        yield swarm


@pytest.fixture(scope="module")
def stack(swarm: Swarm, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    swarm.label(1, "database")
    swarm.label(2, "coordinator")
    swarm.label(3, *RUNNERS)
    stack = Stack(swarm, tmp_path_factory.mktemp("stack"))
    waiting = stack.deploy("tests/containers/compose.yaml", "tests/containers/stack.yaml")
    assert "torch-cpu waits for a node: docker node update --label-add portolan.torch-cpu=true NODE" in waiting
    assert "jax-cpu waits" not in waiting
    stack.open_console()
    until(lambda: all(map(stack.online, NAMES)), "both runners are online", STARTS_WITHIN_S)
    return stack


def test_every_service_has_its_place_in_the_stack_and_gives_privileges_up(docker: list[str]) -> None:
    """TPU services are the exception, because Swarm does not pass on their device files."""
    files = ["--file=compose.yaml", "--file=docker/stack.yaml"]
    profiles = ["--profile=gpu", "--profile=versions"]
    config = json.loads(output_of(*docker, "compose", *files, *profiles, "config", "--format=json"))
    services = {name: service(definition) for name, definition in config["services"].items()}
    assert {
        "postgres",
        "roles",
        "migrate",
        "coordinator",
        "torch-cpu",
        "torch-cpu-older",
        "jax-cuda",
    } <= services.keys()
    for name, definition in services.items():
        assert definition["entrypoint"][:3] == ["setpriv", "--no-new-privs", "--"], name
        label = "database" if name == "postgres" else name
        constraints = [f"node.labels.portolan.{label} == true"] if name not in ("roles", "migrate") else None
        assert definition["deploy"].get("placement", {}).get("constraints") == constraints, name


@pytest.mark.level(2)
def test_services_run_where_their_label_is_and_the_others_wait(stack: Stack) -> None:
    services = ("postgres", "coordinator", *RUNNERS)
    assert [stack.place(name).engine for name in services] == [1, 2, 3, 3]
    assert stack.places("torch-cpu") == []


@pytest.mark.level(2)
def test_a_runner_is_held_in_as_under_compose(stack: Stack) -> None:
    """In each container, the kernel's limits are read and connections are tried. The coordinator's succeed, no runner's
    does."""
    database = stack.place("postgres")
    network = f'{{{{(index .NetworkSettings.Networks "{stack.name}_database").IPAddress}}}}'
    address = output_of(*database.docker, "inspect", "--format", network, database.container)
    with socket.create_server((_own_address(stack.swarm), 0)) as listener:
        host, port = listener.getsockname()
        ways = [f"{address}:5432", "postgres:5432", f"{host}:{port}"]
        coordinator = stack.place("coordinator")
        there = look_inside(coordinator.docker, coordinator.container, *ways)
        assert there.reached == dict.fromkeys(ways, True), "each is there to be reached"
        assert shortcomings(there) == ["there is a way out", "an address that it must not reach answers"]
        for name in RUNNERS:
            runner = stack.place(name)
            inside = look_inside(runner.docker, runner.container, *ways)
            assert shortcomings(inside) == []
            assert inside.scratch == {"/tmp": True}
            assert inside.is_mounted("/var/lib/portolan-timing")
            assert list(inside.secrets) == ["enrolment"]
            assert inside.kind("/run/secrets/enrolment") == "tmpfs"
            assert inside.swap != 0, "Swarm has no word for it"
            servers = output_of(*runner.docker, "inspect", "--format", "{{.HostConfig.Dns}}", runner.container)
            assert servers == "[192.0.2.1]"


@pytest.mark.level(2)
def test_a_case_reaches_enrolment_and_no_rest(stack: Stack) -> None:
    runner = stack.place("hazards")
    assert output_of(*runner.docker, "exec", runner.container, "python", "-c", ASK).split() == ENROLMENT_ALONE


@pytest.mark.level(2)
def test_the_runners_of_one_engine_share_the_timing_lock(stack: Stack) -> None:
    """The runners share a volume on each engine. Runners on other engines do not wait for this lock."""
    for name in RUNNERS:
        runner = stack.place(name)
        template = (
            '{{range .Mounts}}{{if eq .Destination "/var/lib/portolan-timing"}}{{.Name}} {{.Driver}}{{end}}{{end}}'
        )
        volume = output_of(*runner.docker, "inspect", "--format", template, runner.container)
        assert volume == f"{stack.name}_timing local"


@pytest.mark.level(2)
def test_no_port_is_open_on_any_engine(stack: Stack) -> None:
    for engine in range(1, ENGINES + 1):
        for port in (8642, 8790, 5432):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((stack.swarm.address(engine), port), 5.0)


@pytest.mark.level(2)
def test_an_engine_that_dies_in_mid_campaign_loses_nothing(stack: Stack) -> None:
    """The engine's runners start again on another engine, under the same names and at other addresses."""
    stack.swarm.label(2, *RUNNERS)
    before = stack.runners()
    campaigns = _two_campaigns(stack)
    stack.swarm.kill(3)
    assert stack.campaign(campaigns[0])["state"] == "running", "it was in mid-campaign"
    until(lambda: _have_moved(stack, before), "the runners are back at other addresses", MOVES_WITHIN_S)
    assert [stack.place(runner).engine for runner in RUNNERS] == [2, 2]
    _nothing_is_lost(stack, campaigns)


@pytest.mark.level(2)
def test_the_engine_of_the_coordinator_dies_with_its_runners_and_nothing_is_lost(stack: Stack) -> None:
    """Only the database survives, and everything else starts again next to it."""
    stack.swarm.label(1, "coordinator", *RUNNERS)
    before = stack.runners()
    campaigns = _two_campaigns(stack)
    stack.swarm.kill(2)
    until(lambda: _have_moved(stack, before), "the runners are back at other addresses", MOVES_WITHIN_S)
    assert [stack.place(service).engine for service in ("coordinator", *RUNNERS)] == [1, 1, 1]
    _nothing_is_lost(stack, campaigns)


def _two_campaigns(stack: Stack) -> tuple[int, int]:
    """Start one campaign on each runner. The campaign of the hazards runs for a while."""
    many = ["--timing", "off", "--runs", "100"]
    functions = "hazards.nap,hazards.process_id"
    hazards = stack.submit("--suite", "hazards", "--targets", "hazards/cpu", "--functions", functions, *many)
    jax = stack.submit("--targets", "jax/cpu", "--functions", "jax.numpy.sum", "--timing", "off", "--runs", "5")
    until(lambda: stack.campaign(hazards)["counters"]["done"] >= 5, "the campaign is under way", 120.0)
    return hazards, jax


def _have_moved(stack: Stack, before: dict[str, dict[str, Any]]) -> bool:
    """Whether each runner is online on another engine, as the same runner."""
    now = stack.runners()
    return now.keys() == before.keys() and all(
        now[name]["state"] == "online" and now[name]["url"] != was["url"] and now[name]["id"] == was["id"]
        for name, was in before.items()
    )


def _nothing_is_lost(stack: Stack, campaigns: tuple[int, int]) -> None:
    for campaign in campaigns:
        until(lambda campaign=campaign: stack.has_ended(campaign), "it has ended", ENDS_WITHIN_S)  # type: ignore[misc]
        after_end = stack.campaign(campaign)
        jobs = [outcome["job_id"] for outcome in stack.outcomes(campaign)]
        assert after_end["state"] == "done"
        assert len(jobs) == len(set(jobs)) == after_end["counters"]["total"] == after_end["counters"]["passed"]
    again = [outcome for outcome in stack.outcomes(campaigns[0]) if outcome["attempt"] > 1]
    assert again, "what the engine took with it ran again"


def _own_address(swarm: Swarm) -> str:
    """The address of this machine at which the engines reach it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as towards:
        towards.connect((swarm.address(1), 9))
        host: str = towards.getsockname()[0]
        return host
