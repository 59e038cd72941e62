"""The Docker Engine of this host, through its SDK: what a fleet needs of it, and no more.

Only the command line imports this module: the coordinator never touches the engine's socket.
What goes wrong is an ``EngineError`` of one line. Every call has a time limit, because a
container that cannot be ended also keeps whoever asks for it waiting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import requests
from docker.client import DockerClient
from docker.errors import APIError, DockerException
from docker.types import DeviceRequest, LogConfig, Mount
from docker.utils import parse_bytes

from coordinator.fleet.containers import (
    DEVICE,
    FLEET,
    FRAMEWORK,
    GENERATION,
    PORT,
    TARGET,
    VERSION,
    FleetError,
    Health,
    Image,
    Observed,
    State,
    Wanted,
    devices_of,
    labels_of,
    name_of,
)
from coordinator.fleet.containers import WANTED as WANTED_LABEL
from coordinator.fleet.engine_errors import EngineError, GoneError, told
from coordinator.fleet.inventory import Inventory, look

RUNNER_PORT = 8790
"""Where every runner listens in its own container."""
SECRET_FILE = "/run/secrets/portolan-runner"
TIMING_FOLDER = "/var/lib/portolan-timing"
NOBODY = "192.0.2.1"
"""An address that is no machine's (RFC 5737)."""
STOP_S = 10
"""How long a runner has to end by itself before it is killed."""
ANSWER_S = 20.0
"""A plain answer of the engine takes less, or is not coming."""
START_S = 120.0
LOG_FILES = LogConfig(type="json-file", config={"max-size": "10m", "max-file": "3"})

_HEALTH = re.compile(r"\((?:health: )?(starting|healthy|unhealthy)\)")


def parse_size(text: str) -> int:
    """``512m``, ``2G`` → bytes."""
    try:
        size = int(parse_bytes(text))
    except DockerException:
        size = 0
    if size <= 0:
        raise FleetError(f"'{text}' is not a size: write for example 512M or 8G")
    return size


class Engine:
    """``with Engine(fleet) as engine: engine.observe()``."""

    def __init__(self, fleet: str, answer_s: float = ANSWER_S) -> None:
        self.fleet = fleet
        self._resources = f"portolan-{fleet}"
        with told("the Docker Engine"):
            self._docker = DockerClient.from_env(timeout=answer_s, version="auto")
            self._patient = DockerClient.from_env(timeout=START_S, version="auto")
            self._engine: dict[str, Any] = self._docker.info()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self._docker.close()
        self._patient.close()

    def inventory(self) -> Inventory:
        return look(self._engine.get("Runtimes") or {})

    def images(self) -> list[Image]:
        """Every image whose labels say that it holds a runner."""
        with told("the images"):
            found = self._docker.api.images(filters={"label": [FRAMEWORK, DEVICE], "dangling": False})
        described = [(each, each.get("Labels") or {}) for each in found]
        return [_image(each["Id"], each, labels) for each, labels in described if labels[FRAMEWORK] and labels[DEVICE]]

    def image(self, name: str) -> Image:
        """The image of this name; the engine is asked for what is there, never to pull it."""
        try:
            with told(f"image '{name}'"):
                found = self._docker.api.inspect_image(name)
        except GoneError as error:
            raise FleetError(
                f"there is no image '{name}' here: build it with `make images`, or pull it first"
            ) from error
        labels = (found.get("Config") or {}).get("Labels") or {}
        if not labels.get(FRAMEWORK) or not labels.get(DEVICE):
            raise FleetError(
                f"image '{name}' is no runner's: its labels {FRAMEWORK} and {DEVICE} do not say what it serves"
            )
        return _image(found["Id"], found, labels, name)

    def observe(self) -> list[Observed]:
        """The containers of the fleet, out of one list: looking at one that hangs would hang too."""
        with told("the containers"):
            found = self._docker.api.containers(all=True, filters={"label": [f"{FLEET}={self.fleet}"]})
        observed = [_observed(each) for each in found]
        return sorted((each for each in observed if each), key=lambda each: (each.target, each.generation))

    def create(self, wanted: Wanted, generation: int, port: int, secret_file: Path) -> str:
        """Make the container and start it; one that cannot be started is not left behind. Its id."""
        network = self._prepared()
        with told("container"):
            made = self._patient.containers.create(
                wanted.image,
                [
                    *("serve", wanted.framework, wanted.device, "--host", "0.0.0.0", "--port", str(RUNNER_PORT)),
                    *("--secret-file", SECRET_FILE),
                ],
                name=name_of(self.fleet, wanted.target, generation),
                labels=labels_of(self.fleet, wanted, generation, port),
                environment={
                    "PORTOLAN_IMAGE": wanted.image_digest,
                    "PORTOLAN_TIMING_LOCK": f"{TIMING_FOLDER}/lock",
                    "HOME": "/tmp",
                    "TMPDIR": "/tmp",
                },
                ports={f"{RUNNER_PORT}/tcp": ("127.0.0.1", port)},
                network=network,
                mounts=[
                    Mount(SECRET_FILE, str(secret_file), type="bind", read_only=True),
                    Mount(TIMING_FOLDER, f"{self._resources}-timing", type="volume"),
                ],
                log_config=LOG_FILES,
                restart_policy={"Name": "unless-stopped"},
                **_hardening(wanted),
                **_reach(wanted),
            )
        try:
            with told("container"):
                self._patient.api.start(made.id)
        except EngineError:
            self._discard(made.id)
            raise
        return str(made.id)

    def start(self, container: Observed) -> None:
        with told("container"):
            self._patient.api.start(container.id)

    def restart(self, container: Observed) -> None:
        with told("container", ending=True):
            self._docker.api.restart(container.id, timeout=STOP_S)

    def stop(self, container: Observed) -> None:
        with told("container", ending=True):
            self._docker.api.stop(container.id, timeout=STOP_S)

    def remove(self, container: Observed) -> None:
        """Stop and remove; gone already is as good."""
        try:
            self.stop(container)
            with told("container", ending=True):
                self._docker.api.remove_container(container.id, force=True)
        except GoneError:
            return

    def cut_off(self, container: Observed) -> None:
        """Take one that cannot be ended off its network, so that nobody speaks to it any more, if that can be done."""
        try:
            with told("network"):
                for network in self._networks():
                    self._docker.api.disconnect_container_from_network(container.id, network, force=True)
        except EngineError:
            return

    def restarts(self, container: Observed) -> int | None:
        """How often the engine has started it again; None where it does not say."""
        try:
            with told("the container"):
                return int(self._docker.api.inspect_container(container.id)["RestartCount"])
        except (EngineError, KeyError):
            return None

    def memory(self, container: Observed) -> int | None:
        """Bytes that its processes hold now, without what the kernel would give up."""
        if container.state is not State.running:
            return None
        try:
            with told("the container"):
                said = self._docker.api.stats(container.id, stream=False, one_shot=True)["memory_stats"]
        except (EngineError, KeyError):
            return None
        details = said.get("stats", {})
        cache = details.get("total_inactive_file", details.get("inactive_file", 0))
        return int(said["usage"] - cache) if "usage" in said else None

    def log_tail(self, container: Observed, lines: int) -> list[str]:
        with told("log"):
            said = self._docker.api.logs(container.id, tail=lines)
        return [line for line in said.decode(errors="replace").splitlines() if line.strip()]

    def log(self, container: Observed, *, follow: bool) -> Iterator[bytes]:
        """The log as it is, stdout and stderr as they came."""
        with told("log"):
            if not follow:
                yield self._docker.api.logs(container.id)
                return
            unhurried = DockerClient.from_env(timeout=None, version="auto")
            try:
                yield from unhurried.api.logs(container.id, stream=True, follow=True)
            finally:
                unhurried.close()

    def remove_network(self) -> None:
        for network in self._networks():
            self._try_to(partial(self._docker.api.remove_network, network))

    def remove_volumes(self) -> None:
        self._try_to(lambda: self._docker.api.remove_volume(f"{self._resources}-timing"))

    def _prepared(self) -> str:
        """The network and the volume of the fleet are there; the id of the network."""
        with told(f"network {self._resources}"):
            if not self._networks():
                self._make_network()
            self._docker.api.create_volume(f"{self._resources}-timing", labels={FLEET: self.fleet})
            first, *others = self._networks()
            # The engine finds no network of a name that two have, not even by its id.
            for each in others:
                self._try_to(partial(self._docker.api.remove_network, each))
            return first

    def _networks(self) -> list[str]:
        """Ids, the oldest first: two calls in the same instant can make two of one name, and all take the first."""
        with told("the networks"):
            found = self._docker.api.networks(names=[self._resources])
        own = [each for each in found if each["Name"] == self._resources]
        return [str(each["Id"]) for each in sorted(own, key=lambda each: (each["Created"], each["Id"]))]

    def _make_network(self) -> None:
        # Nothing of a container's is translated to the host's address, so it reaches nothing
        # beyond; an internal network would be closed tighter, and publish no port.
        options = {
            "com.docker.network.bridge.enable_ip_masquerade": "false",
            "com.docker.network.bridge.enable_icc": "false",
        }
        try:
            self._docker.api.create_network(
                self._resources, driver="bridge", labels={FLEET: self.fleet}, options=options, check_duplicate=True
            )
        except APIError as error:
            if error.status_code != requests.codes.conflict:
                raise

    def _discard(self, container_id: str) -> None:
        self._try_to(lambda: self._docker.api.remove_container(container_id, force=True))

    @property
    def cpus(self) -> int:
        """How many the engine has for all its containers."""
        return int(self._engine["NCPU"])

    @staticmethod
    def _try_to(call: Callable[[], object]) -> None:
        try:
            with told("the engine"):
                call()
        except EngineError:
            return


def _hardening(wanted: Wanted) -> dict[str, Any]:
    """As compose.yaml has it. The default seccomp profile holds because none is named."""
    limits = wanted.limits
    return {
        "read_only": True,
        "tmpfs": {"/tmp": f"size={limits.scratch},mode=1777,nosuid,nodev"},
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "mem_limit": limits.memory,
        "memswap_limit": limits.memory,
        "nano_cpus": round(limits.cpus * 1e9),
        "pids_limit": limits.pids,
        # The engine would ask the host's own resolver for the case.
        "dns": [NOBODY],
    }


def _reach(wanted: Wanted) -> dict[str, Any]:
    """What lets the device in."""
    reach = wanted.access
    requests_ = [DeviceRequest(driver="nvidia", count=-1, capabilities=[["gpu"]])] if reach.gpus else []
    if reach.cdi:
        requests_.append(DeviceRequest(driver="cdi", device_ids=list(reach.cdi)))
    return {
        "device_requests": requests_,
        "devices": [f"{path}:{path}:rwm" for path in reach.paths],
        "group_add": [str(each) for each in reach.groups],
    }


def _image(image_id: str, said: dict[str, Any], labels: dict[str, str], name: str | None = None) -> Image:
    tags = said.get("RepoTags") or []
    digests = [each.partition("@")[2] for each in said.get("RepoDigests") or []]
    return Image(
        id=image_id,
        name=name or next((tag for tag in tags if tag != "<none>:<none>"), image_id),
        digest=next((each for each in digests if each != "<none>"), image_id),
        framework=labels[FRAMEWORK],
        version=labels.get(VERSION, ""),
        devices=devices_of(labels[FRAMEWORK], labels[DEVICE]),
        created=str(said.get("Created", "")),
    )


def _observed(said: dict[str, Any]) -> Observed | None:
    """None for a container with our labels that we have not made."""
    labels = said.get("Labels") or {}
    health = _HEALTH.search(said.get("Status") or "")
    try:
        return Observed(
            id=said["Id"],
            name=said["Names"][0].lstrip("/"),
            target=labels[TARGET],
            generation=int(labels[GENERATION]),
            port=int(labels[PORT]),
            state=State(said["State"]),
            health=Health(health[1]) if health else Health.none,
            wanted=Wanted.loaded(labels[WANTED_LABEL]),
        )
    except (KeyError, ValueError, IndexError):
        return None
