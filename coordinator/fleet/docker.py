"""The Docker Engine of this host as a scheduler of runners, through Docker's SDK.

Only the command line imports this module. The coordinator never uses the engine's socket. Every failure becomes a
``FleetError`` with a message of one line. Every call has a time limit, because a call about a container that hangs may
never return.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from docker.client import DockerClient
from docker.errors import APIError, DockerException
from docker.types import DeviceRequest, LogConfig, Mount
from pydantic import ValidationError

from coordinator.errors import EngineError, FleetError, GoneError, PortTakenError, StuckError
from coordinator.fleet.images import DEVICE, FRAMEWORK, VERSION, devices_of
from coordinator.fleet.inventory import Inventory, find_devices
from coordinator.fleet.scheduler import Capability, Container, Image, RunnerSpec

FLEET = "org.portolan.fleet"
TARGET = "org.portolan.fleet.target"
PORT = "org.portolan.fleet.port"
SPEC = "org.portolan.fleet.spec"

RUNNER_PORT = 8790
"""The port at which every runner listens in its own container."""
PORTS = 100
"""The number of ports of the host that are tried, beginning with the first port of the fleet."""
SECRET_FILE = "/run/secrets/portolan-runner"
TIMING_FOLDER = "/var/lib/portolan-timing"
NOBODY = "192.0.2.1"
"""A documentation address (RFC 5737), which no machine has."""
STOP_S = 10
"""The seconds that a runner gets to end by itself before it is killed."""
ANSWER_S = 20.0
"""The time limit for an ordinary response of the engine."""
START_S = 120.0

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")
_HEALTH = re.compile(r"\((?:health: )?(starting|healthy|unhealthy)\)")


_Refusal = tuple[tuple[str, ...], type[FleetError], str]
# The engine's own messages. Tests with a real engine check them.
_REFUSALS: tuple[_Refusal, ...] = (
    (
        ("is already in use by container",),
        EngineError,
        "another `portolan fleet` command has just created it: run the command again",
    ),
    (
        ("port is already allocated", "address already in use"),
        PortTakenError,
        "another program uses its port: stop that program, or choose other ports with --first-port",
    ),
    (
        ("did not receive an exit event", "did not exit", "can not be killed"),
        StuckError,
        "it does not end: restart the Docker Engine",
    ),
    (
        ("could not select device driver", "error gathering device information", "unresolvable CDI devices"),
        EngineError,
        "its device is not available: check that it is still there",
    ),
    (("no space left on device",), EngineError, "the disk is full: free some with `docker system prune`"),
)
_AWAY = "no Docker Engine answers: start it, or set $DOCKER_HOST to its address"
_ABSENCES = {
    "Permission denied": "this user may not use the Docker Engine's socket: run as root, or join the socket's group",
    "No such file or directory": _AWAY,
    "Connection refused": _AWAY,
    "timed out": "the Docker Engine does not answer in time: see its log",
}


class DockerEngine:
    """The containers of one fleet: ``with DockerEngine("main") as engine: engine.list()``.

    The labels of the containers contain the whole state, so a later call can continue the work of an interrupted call.
    """

    def __init__(self, fleet: str, first_port: int = 8801) -> None:
        if not _NAME.fullmatch(fleet):
            raise FleetError(f"'{fleet}' is not a name for a fleet: use up to 31 of a-z, 0-9 and -, such as 'main'")
        self.fleet = fleet
        self._first_port = first_port
        self._resources = f"portolan-{fleet}"
        self._volume = f"{self._resources}-timing"
        with translate_errors("the Docker Engine"):
            self._client = DockerClient.from_env(timeout=START_S, version="auto")
            self._api = DockerClient.from_env(timeout=ANSWER_S, version="auto").api
            self._info: dict[str, Any] = self._api.info()

    def __enter__(self) -> DockerEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._api.close()

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset(Capability)

    @property
    def cpus(self) -> int:
        """The number of processors that the engine can give to containers."""
        return int(self._info["NCPU"])

    def inventory(self) -> Inventory:
        return find_devices(self._info.get("Runtimes") or {})

    def images(self) -> Sequence[Image]:
        """Return every image whose labels declare a runner."""
        with translate_errors("the images"):
            entries = self._api.images(filters={"label": [FRAMEWORK, DEVICE], "dangling": False})
        return [image for entry in entries if (image := _image(entry, entry.get("Labels"))) is not None]

    def image(self, name: str) -> Image:
        """Return the local image with this name. Nothing is pulled."""
        try:
            with translate_errors(f"image '{name}'"):
                entry = self._api.inspect_image(name)
        except GoneError as error:
            raise FleetError(
                f"there is no image '{name}' here: build it with `make images`, or pull it first"
            ) from error
        image = _image(entry, (entry.get("Config") or {}).get("Labels"), name)
        if image is None:
            raise FleetError(
                f"image '{name}' is not an image of a runner, because it lacks the labels {FRAMEWORK} and {DEVICE}: "
                "name an image that `make images` built"
            )
        return image

    def create(self, spec: RunnerSpec, secret_file: Path, url: str | None = None) -> Container:
        """Create and start a container. The container gets the port of ``url`` if this port is free, otherwise the next
        free port."""
        self._prepare()
        preferred_ports = [int(url.rpartition(":")[2])] if url else []
        last = min(self._first_port + PORTS, 65536) - 1
        labels = {"label": [PORT]}
        with translate_errors("the containers"):
            ports_in_use = {container["Labels"][PORT] for container in self._api.containers(all=True, filters=labels)}
        for port in [*preferred_ports, *range(self._first_port, last + 1)]:
            if str(port) not in ports_in_use and _is_free(port):
                with contextlib.suppress(PortTakenError):
                    return self._start(spec, secret_file, port)
        raise FleetError(f"no port from {self._first_port} to {last} is free: choose others with --first-port")

    def _start(self, spec: RunnerSpec, secret_file: Path, port: int) -> Container:
        # The engine gives each name to only one container, so two concurrent calls cannot create a container twice.
        name = f"{self._resources}-{spec.target.replace('/', '-').replace('@', '-')}"
        with translate_errors("container"):
            container = self._client.containers.create(
                spec.image.id,
                [
                    *("serve", spec.framework, spec.device, "--host", "0.0.0.0", "--port", str(RUNNER_PORT)),
                    *("--secret-file", SECRET_FILE),
                ],
                name=name,
                labels={FLEET: self.fleet, TARGET: spec.target, PORT: str(port), SPEC: spec.model_dump_json()},
                environment={
                    "PORTOLAN_IMAGE": spec.image.digest,
                    "PORTOLAN_TIMING_LOCK": f"{TIMING_FOLDER}/lock",
                    "HOME": "/tmp",
                    "TMPDIR": "/tmp",
                },
                ports={f"{RUNNER_PORT}/tcp": ("127.0.0.1", port)},
                network=self._resources,
                mounts=[
                    Mount(SECRET_FILE, str(secret_file), type="bind", read_only=True),
                    Mount(TIMING_FOLDER, self._volume, type="volume"),
                ],
                log_config=LogConfig(type="json-file", config={"max-size": "10m", "max-file": "3"}),
                # The container restarts at the same port with the same secret, so the coordinator can reach it again.
                restart_policy={"Name": "unless-stopped"},
                **_hardening(spec),
                **_device(spec),
            )
        try:
            with translate_errors("container"):
                container.start()
        except EngineError:
            with contextlib.suppress(EngineError), translate_errors("container"):
                container.remove(force=True)
            raise
        return Container(container.id, name, spec.target, _url(port), "running", "starting", spec)

    def list(self, *, usage: bool = False) -> Sequence[Container]:
        with translate_errors("the containers"):
            entries = self._api.containers(all=True, filters={"label": [f"{FLEET}={self.fleet}"]})
        containers = [self._container(entry, usage) for entry in entries if PORT in entry["Labels"]]
        return sorted(containers, key=lambda container: container.target)

    def _container(self, entry: dict[str, Any], usage: bool) -> Container:
        """Return the container for an entry of the engine's list. The container is inspected only for ``usage``,
        because the inspection of a hanging container does not return."""
        labels = entry["Labels"]
        health = _HEALTH.search(entry.get("Status") or "")
        restarts, memory = self._usage(entry["Id"]) if usage else (None, None)
        try:
            spec = RunnerSpec.model_validate_json(labels.get(SPEC, ""))
        except ValidationError:
            spec = None
        return Container(
            id=entry["Id"],
            name=entry["Names"][0].lstrip("/"),
            target=labels[TARGET],
            url=_url(int(labels[PORT])),
            state=entry["State"],
            health=health[1] if health else "none",
            spec=spec,
            restarts=restarts,
            memory_bytes=memory,
        )

    def _usage(self, container_id: str) -> tuple[int | None, int | None]:
        """Return the number of restarts, and the bytes of memory in use. Memory that the kernel would reclaim does not
        count."""
        restarts = memory = None
        # A request about a container that hangs does not return. After the first such request, no container is
        # inspected.
        with contextlib.suppress(EngineError, KeyError), translate_errors("the container"):
            restarts = int(self._api.inspect_container(container_id)["RestartCount"])
            usage = self._api.stats(container_id, stream=False, one_shot=True)["memory_stats"]
            details = usage.get("stats", {})
            memory = int(usage["usage"] - details.get("total_inactive_file", details.get("inactive_file", 0)))
        return restarts, memory

    def remove(self, container: Container) -> None:
        try:
            with translate_errors("container", ending=True):
                self._api.stop(container.id, timeout=STOP_S)
                self._api.remove_container(container.id, force=True)
        except GoneError:
            return

    def logs(self, container: Container, *, follow: bool = False, tail: int | None = None) -> Iterator[bytes]:
        lines = "all" if tail is None else tail
        with translate_errors("log"):
            if not follow:
                yield self._api.logs(container.id, tail=lines)
                return
            with contextlib.closing(DockerClient.from_env(timeout=None, version="auto")) as client:
                yield from client.api.logs(container.id, tail=lines, stream=True, follow=True)

    def dissolve(self, *, volume: bool) -> None:
        """Remove the network, and on request the volume. No container may need them any more."""
        with contextlib.suppress(EngineError), translate_errors("network"):
            self._api.remove_network(self._resources)
        with contextlib.suppress(EngineError), translate_errors("volume"):
            if volume:
                self._api.remove_volume(self._volume)

    def _prepare(self) -> None:
        """Create the network and the volume of the fleet if they are missing."""
        # The address of a container is not translated to the host's address, so a container reaches nothing beyond the
        # host. An internal network would be closed more tightly, but could not publish a port.
        options = {
            "com.docker.network.bridge.enable_ip_masquerade": "false",
            "com.docker.network.bridge.enable_icc": "false",
        }
        labels = {FLEET: self.fleet}
        with translate_errors(f"network {self._resources}"):
            self._api.create_volume(self._volume, labels=labels)
            if self._resources not in [network["Name"] for network in self._api.networks(names=[self._resources])]:
                self._api.create_network(self._resources, driver="bridge", labels=labels, options=options)


def _hardening(spec: RunnerSpec) -> dict[str, Any]:
    """Return the hardening options, the same as in compose.yaml. No seccomp profile is set, so the default profile
    applies."""
    limits = spec.limits
    return {
        "read_only": True,
        "tmpfs": {"/tmp": f"size={limits.scratch},mode=1777,nosuid,nodev"},
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "mem_limit": limits.memory,
        "memswap_limit": limits.memory,
        "nano_cpus": round(limits.cpus * 1e9),
        "pids_limit": limits.pids,
        # Without this, the engine would ask the host's own resolver on behalf of a case.
        "dns": [NOBODY],
    }


def _device(spec: RunnerSpec) -> dict[str, Any]:
    """Return the options that give the container access to the device."""
    access = spec.access
    gpus = [DeviceRequest(driver="nvidia", count=-1, capabilities=[["gpu"]])] if access.gpus else []
    cdi_requests = [DeviceRequest(driver="cdi", device_ids=list(access.cdi))] if access.cdi else []
    return {
        "device_requests": gpus + cdi_requests,
        "devices": [f"{path}:{path}:rwm" for path in access.paths],
        "group_add": [str(group) for group in access.groups],
    }


def _image(entry: dict[str, Any], labels: dict[str, str] | None, name: str | None = None) -> Image | None:
    """Return the image as the engine describes it; None if its labels declare no runner."""
    if not labels or not labels.get(FRAMEWORK) or not labels.get(DEVICE):
        return None
    tags = [tag for tag in entry.get("RepoTags") or [] if tag != "<none>:<none>"]
    digests = [digest.partition("@")[2] for digest in entry.get("RepoDigests") or []]
    return Image(
        id=entry["Id"],
        name=name or next(iter(tags), entry["Id"]),
        digest=next((digest for digest in digests if digest != "<none>"), entry["Id"]),
        framework=labels[FRAMEWORK],
        version=labels.get(VERSION, ""),
        devices=devices_of(labels[FRAMEWORK], labels[DEVICE]),
        created=str(entry.get("Created", "")),
    )


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def translate_errors(subject: str, *, ending: bool = False) -> Iterator[None]:
    """Turn errors of the SDK into a ``FleetError`` about ``subject``."""
    try:
        yield
    except APIError as error:
        explanation = " ".join(str(error.explanation or error).split())
        if error.status_code == requests.codes.not_found:
            raise GoneError(f"{subject} no longer exists ({explanation}): repeat the command") from error
        for words, kind, sentence in _REFUSALS:
            if any(phrase in explanation for phrase in words):
                raise kind(f"{subject}: {sentence} ({explanation})") from error
        raise EngineError(
            f"{subject}: the Docker Engine refused ({explanation}): remove this reason, and repeat the command"
        ) from error
    except requests.exceptions.Timeout as error:
        if ending:
            raise StuckError(
                f"{subject}: the container does not end, because one of its processes cannot be stopped: "
                "restart the Docker Engine or the host"
            ) from error
        raise EngineError(f"{subject}: the Docker Engine does not answer in time: try again") from error
    except (DockerException, requests.exceptions.RequestException, OSError) as error:
        sentences = [sentence for words, sentence in _ABSENCES.items() if words in str(error)]
        raise EngineError(
            next(iter(sentences), f"the Docker Engine cannot be used ({error}): check its log")
        ) from error
