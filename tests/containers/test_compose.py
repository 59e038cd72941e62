"""``compose.yaml`` on a real engine: all services start, runners are isolated, and a restart loses nothing."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coordinator.bundles.signature import SIGNATURE, read_signature
from tests import bundles
from tests.containers.composed import PLAIN, Composed
from tests.containers.inspection import ASK, ENROLMENT_ALONE, look_inside, shortcomings
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("images")


@pytest.fixture(scope="module")
def project(docker: list[str], images: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    with Composed(docker, tmp_path_factory.mktemp("composed")) as project:
        project.up(*PLAIN)
        project.wait_online("hazards")
        yield project


@pytest.fixture(autouse=True)
def _heal(project: Composed) -> None:
    """Wait until the containers have recovered from the previous test."""
    project.wait_online("hazards")


@contextmanager
def listening_on(address: str) -> Iterator[int]:
    """Start a server on this machine, outside of all containers, and return its port."""
    with socket.create_server((address, 0)) as server:
        yield server.getsockname()[1]


def own_addresses() -> list[str]:
    addresses = subprocess.run(["ip", "-4", "-o", "addr"], capture_output=True, text=True, check=True).stdout
    return [address for address in re.findall(r"inet ([\d.]+)", addresses) if not address.startswith("127.")]


def test_a_runner_is_held_in(project: Composed) -> None:
    """The kernel's limits are read, and each kind of connection is tried: to the database, to this machine, to another
    network."""
    other = ["run", "--detach", "--rm", "--entrypoint", "python", "portolan/runner:latest", "-m", "http.server", "80"]
    neighbour = subprocess.run([*project.docker, *other], capture_output=True, text=True, check=True).stdout.strip()
    try:
        elsewhere = subprocess.run(
            [*project.docker, "inspect", "--format", "{{.NetworkSettings.IPAddress}}", neighbour],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        with listening_on("0.0.0.0") as port:
            ways = [f"{project.address('postgres')}:5432", f"{elsewhere}:80", "postgres:5432"]
            ways += [f"{address}:{port}" for address in own_addresses()]
            inside = look_inside(project.docker, project.container("hazards"), *ways)
            here = look_inside(project.docker, project.container("coordinator"), "postgres:5432")
    finally:
        subprocess.run([*project.docker, "rm", "--force", neighbour], capture_output=True, check=True)
    assert here.reached == {"postgres:5432": True}
    # Engines before 28 leave a route to where the bridge would be; no address was reached by it.
    assert [shortcoming for shortcoming in shortcomings(inside) if shortcoming != "there is a way out"] == []
    assert inside.is_mounted("/var/lib/portolan-timing")
    assert (inside.memory, inside.swap, inside.pids) == (1 << 30, 0, 200)


def test_no_name_leads_out(project: Composed) -> None:
    """Not even a DNS query gets out: an engine that passes it to the host's resolver would let a case send data."""
    assert project.inspect("hazards")["HostConfig"]["Dns"] == ["192.0.2.1"]
    answer = project.run_in("hazards", "import socket; socket.gethostbyname('www.debian.org')")
    assert "gaierror" in answer.stderr
    answer = project.run_in("hazards", "import socket; print(socket.gethostbyname('coordinator'))")
    assert answer.stdout.strip() == project.address("coordinator", "fleet")


def test_a_case_reaches_enrolment_and_no_rest(project: Composed) -> None:
    """A case can use only the enrollment of the coordinator. From outside, the same coordinator serves everything."""
    answer = project.run_in("hazards", ASK)
    assert answer.stdout.split() == ENROLMENT_ALONE, answer.stderr
    assert project.http.get("/campaigns").status_code == 200


def test_a_case_reads_its_own_token_and_no_other(project: Composed) -> None:
    code = "import pathlib; print(*[f.read_text() for f in pathlib.Path('/run/secrets').iterdir()])"
    answer = project.run_in("hazards", code)
    assert answer.stdout.strip() == (project.secrets / "enrolment-hazards").read_text()
    assert "~hazards~hazards/cpu~" in answer.stdout


def test_a_runner_cannot_become_root(project: Composed) -> None:
    answer = project.run_in("hazards", "import os; os.setuid(0)")
    assert "PermissionError" in answer.stderr


def test_the_signature_of_a_bundle_is_verified_in_the_coordinators_image(project: Composed, tmp_path: Path) -> None:
    bundle, key = bundles.make(tmp_path / "hazards.bundle", runs=1), bundles.make_key(tmp_path, "lab")
    bundles.sign(bundle, key)
    signer = {"name": "lab@example.org", "key": key.with_suffix(".pub").read_text()}
    answer = project.http.post("/signers", json=signer)
    assert answer.status_code == 201, answer.text
    headers = bundles.HEADERS | {SIGNATURE: str(read_signature(bundle))}
    answer = project.http.post("/bundles", headers=headers, content=bundle.read_bytes())
    assert answer.status_code == 201, answer.text
    assert answer.json()["signed_by"] == "lab@example.org"


def test_only_the_coordinator_can_be_reached_and_only_from_this_machine(project: Composed) -> None:
    ports_by_service = {
        service: project.inspect(service)["NetworkSettings"]["Ports"]
        for service in ("postgres", "hazards", "coordinator")
    }
    ports = {
        service: [port for bound in of.values() if bound for port in bound] for service, of in ports_by_service.items()
    }
    assert ports == {
        "postgres": [],
        "hazards": [],
        "coordinator": [{"HostIp": "127.0.0.1", "HostPort": str(project.port)}],
    }


def test_the_digest_of_the_image_is_in_the_fingerprint(project: Composed) -> None:
    runner = project.runner("hazards")
    assert runner is not None
    assert runner["fingerprint"]["image"] == project.variables["PORTOLAN_IMAGE_HAZARDS"]


@pytest.mark.drawn(2)
@pytest.mark.parametrize("hazard", ["eat_memory", "fill_disk", "fork_many", "hang_ignoring_signals"])
def test_a_case_that_goes_wrong_costs_that_case_only(project: Composed, hazard: str) -> None:
    before = project.inspect("hazards")
    campaign = project.submit(
        suite="hazards", functions=["hazards.add", f"hazards.{hazard}", "hazards.nap"], runs=1, timeout_s=5
    )
    after_end = project.wait_ended(campaign)
    assert after_end["state"] == "done"
    verdicts = project.verdicts(campaign)
    # A disk that is full is nobody's fault but the machine's.
    of_hazard = [row for row in project.outcomes(campaign) if row["function"] == f"hazards.{hazard}"]
    assert verdicts.pop(f"hazards.{hazard}/0") == ("incomplete" if hazard == "fill_disk" else "failed"), of_hazard
    assert verdicts.pop("hazards.add/wrong") == "failed"
    assert set(verdicts.values()) == {"passed"}
    if hazard == "fill_disk":
        assert project.causes(campaign)[f"hazards.{hazard}/0"] == "environment"
    after = project.inspect("hazards")
    assert (after["RestartCount"], after["State"]["StartedAt"]) == (
        before["RestartCount"],
        before["State"]["StartedAt"],
    )
    assert not after["State"]["OOMKilled"]


@pytest.mark.drawn(3)
@pytest.mark.parametrize("how", ["restart", "kill"])
@pytest.mark.parametrize("service", ["postgres", "coordinator", "hazards"])
def test_the_restart_of_a_container_in_mid_campaign_loses_nothing(project: Composed, service: str, how: str) -> None:
    runs = 60
    campaign = project.submit(suite="hazards", functions=["hazards.nap"], runs=runs)
    until(lambda: project.count_done(campaign) >= 5, "the campaign is under way")
    if how == "kill":
        assert project.compose("kill", service).returncode == 0
        project.up(*PLAIN)
    else:
        assert project.compose("restart", "--timeout", "20", service).returncode == 0
    after_end = project.wait_ended(campaign)
    assert after_end["state"] == "done"
    assert after_end["counters"]["passed"] == runs
    outcomes = project.outcomes(campaign)
    assert sorted(outcome["run"] for outcome in outcomes) == list(range(1, runs + 1))


def test_a_port_that_is_taken_is_said(project: Composed, tmp_path: Path) -> None:
    with (
        Composed(project.docker, tmp_path, "-port") as second,
        listening_on("127.0.0.1") as busy_port,
    ):
        second.variables["PORTOLAN_PORT"] = str(busy_port)
        answer = second.compose("up", "--detach", "--wait", *PLAIN)
    assert answer.returncode != 0
    assert "address already in use" in answer.stderr.splitlines()[-1]


def test_what_a_killed_run_of_the_tests_left_is_removed_first(docker: list[str], tmp_path: Path) -> None:
    stack = Composed(docker, tmp_path, "-killed")
    volume = f"{stack.name}_database"
    labels = ["--label", f"com.docker.compose.project={stack.name}", "--label", "com.docker.compose.volume=database"]
    subprocess.run([*docker, "volume", "create", *labels, volume], check=True, capture_output=True)
    with stack:
        volumes = subprocess.run([*docker, "volume", "ls", "--quiet"], check=True, capture_output=True, text=True)
    assert volume not in volumes.stdout.split()


def test_a_secret_that_is_missing_is_said(project: Composed, tmp_path: Path) -> None:
    with Composed(project.docker, tmp_path, "-secret") as second:
        (second.secrets / "enrolment-key").unlink()
        answer = second.compose("up", "--detach", "--wait", *PLAIN)
    assert answer.returncode != 0
    assert str(second.secrets / "enrolment-key") in answer.stderr.splitlines()[-1]
    assert "exist" in answer.stderr.splitlines()[-1]
