"""Deploys compose.yaml and docker/stack.yaml on this engine's swarm, and reports services that wait for a node.

``stack.py [NAME] [--file MORE.yaml]…``. A service waits if no node has the label that the service requires. Standard
library only, so that a manager node needs no set-up.

Swarm reads an older format than Compose. Settings that have another name in Swarm are translated here. Settings that
must differ in a stack are in docker/stack.yaml. Settings that Swarm does not have are omitted.
"""

from __future__ import annotations

import argparse
import hashlib
import ipaddress
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
FILES = ("compose.yaml", "docker/stack.yaml")
UNREAD = frozenset(
    {"build", "depends_on", "devices", "memswap_limit", "profiles", "pull_policy", "restart", "security_opt"}
)
TRANSLATED = frozenset({"ports", "shm_size", "tmpfs"})
LIMITS = {"mem_limit": "memory", "cpus": "cpus", "pids_limit": "pids"}
UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
LABELLED = re.compile(r"node\.labels\.(?P<label>\S+) == (?P<value>\S+)")

Config = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", metavar="NAME", nargs="?", default="portolan", help="of the stack (%(default)s)")
    parser.add_argument(
        "--file",
        metavar="YAML",
        action="append",
        default=[],
        help="one more file; its settings override those of the two others",
    )
    parser.add_argument(
        "--resolve-image",
        choices=("always", "changed", "never"),
        default="never",
        help="whether to get digests from a registry; %(default)s suits images that every node already has",
    )
    options = parser.parse_args()
    nodes = nodes_of_the_swarm()
    files = [*(str(ROOT / file) for file in FILES), *options.file]
    config = json.loads(
        call("docker", "compose", "--project-name", options.name, *(f"--file={file}" for file in files),
               "config", "--format", "json")
    )  # fmt: skip
    stack = as_stack(config)
    stack["secrets"] = {
        name: with_content_in_name(name, definition) for name, definition in stack.get("secrets", {}).items()
    }
    deploy = ["docker", "stack", "deploy", "--detach=true", f"--resolve-image={options.resolve_image}"]
    if subprocess.run([*deploy, "--compose-file=-", options.name], input=json.dumps(stack).encode()).returncode:
        give_up("the stack was not deployed, for the reason above")
    for line in waiting(stack["services"], nodes):
        print(line)


def as_stack(config: Config) -> Config:
    """Translate the output of ``docker compose config`` into the input of ``docker stack deploy``."""
    stack = {
        part: {
            name: {key: value for key, value in definition.items() if key != "ipam" or value}
            for name, definition in of.items()
        }
        for part, of in config.items()
        if part in ("networks", "volumes", "secrets", "configs")
    }
    return {
        "version": "3.9",
        **stack,
        "services": {name: service(definition) for name, definition in config["services"].items()},
    }


def service(definition: Mapping[str, Any]) -> Config:
    members = {
        key: value
        for key, value in definition.items()
        if value is not None and key not in UNREAD | TRANSLATED | LIMITS.keys()
    }
    scratches = [
        *definition.get("tmpfs", ()),
        *(f"/dev/shm:size={definition[key]}" for key in ("shm_size",) if key in definition),
    ]
    volumes = [*map(volume, definition.get("volumes", ())), *map(scratch, scratches)]
    ports = [
        {**port, "published": int(port["published"])} for port in definition.get("ports", ()) if not is_loopback(port)
    ]
    if "healthcheck" in members:
        members["healthcheck"] = {
            key: value for key, value in members["healthcheck"].items() if key != "start_interval"
        }
    members["deploy"] = deployment(definition)
    return members | ({"volumes": volumes} if volumes else {}) | ({"ports": ports} if ports else {})


def deployment(definition: Mapping[str, Any]) -> Config:
    deploy = {key: value for key, value in definition.get("deploy", {}).items() if value is not None}
    resources = deploy.get("resources", {})
    limits = {word: definition[key] for key, word in LIMITS.items() if key in definition} | resources.get("limits", {})
    reservations = dict(resources.get("reservations", {}))
    reservations.pop("devices", None)  # a stack uses the node's own runtime or generic resources instead
    for bounds in (limits, reservations):
        if "cpus" in bounds:
            bounds["cpus"] = str(bounds["cpus"])
    kinds = {"limits": limits, "reservations": reservations}
    deploy["resources"] = {kind: bounds for kind, bounds in kinds.items() if bounds}
    return deploy


def volume(definition: Mapping[str, Any]) -> Config:
    if definition["type"] != "tmpfs":
        return dict(definition)
    size = definition.get("tmpfs", {}).get("size")
    if size is None:
        give_up(f"the tmpfs on {definition['target']} has no size: set one, or it may fill the node's memory")
    return {"type": "tmpfs", "target": definition["target"], "tmpfs": {"size": in_bytes(str(size))}}


def scratch(mount: str) -> Config:
    """A volume that Swarm understands, for a text in Compose's form such as ``/tmp:size=1g,mode=1777``."""
    target, _, options = mount.partition(":")
    says = dict(part.partition("=")[::2] for part in options.split(",") if part)
    return volume({"type": "tmpfs", "target": target, "tmpfs": {"size": says.get("size")}})


def in_bytes(size: str) -> int:
    match = re.fullmatch(r"(\d+)([bkmg]?)b?", size.lower())
    if match is None:
        give_up(f"'{size}' is not a size: write it like 512m")
    return int(match[1]) * UNITS[match[2]]


def is_loopback(port: Mapping[str, Any]) -> bool:
    """Whether a port is only for this host. Such a port is not published, because Swarm would open it on every node."""
    return bool(port.get("host_ip")) and ipaddress.ip_address(port["host_ip"]).is_loopback


def with_content_in_name(name: str, secret: Mapping[str, Any]) -> Config:
    """The secret with a digest of its content in its name. A secret in a swarm cannot be changed, so new content needs
    a new name."""
    if "file" not in secret:
        return dict(secret)
    try:
        content = Path(secret["file"]).read_bytes()
    except OSError as error:
        give_up(f"secret {name}: {error.strerror} ({secret['file']}); scripts/secret_files.py makes it")
    return {**secret, "name": f"{secret.get('name', name)}-{hashlib.sha256(content).hexdigest()[:12]}"}


def waiting(services: Mapping[str, Config], nodes: Iterable[Mapping[str, str]]) -> list[str]:
    """A line for every label that a service requires of its node and that no node has."""
    images: dict[tuple[str, str], list[str]] = {}
    for name, definition in services.items():
        for constraint in definition["deploy"].get("placement", {}).get("constraints", ()):
            if match := LABELLED.fullmatch(constraint):
                images.setdefault((match["label"], match["value"]), []).append(name)
    labels = list(nodes)
    return [
        f"{', '.join(names)} waits for a node: docker node update --label-add {label}={value} NODE"
        for (label, value), names in images.items()
        if not any(label_set.get(label) == value for label_set in labels)
    ]


def nodes_of_the_swarm() -> list[dict[str, str]]:
    """The labels of each node in the swarm."""
    ids = call("docker", "node", "ls", "--quiet").split()
    return [load["Spec"].get("Labels") or {} for load in json.loads(call("docker", "node", "inspect", *ids))]


def call(*command: str) -> str:
    try:
        completed_process = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        give_up(f"{command[0]}: {error.strerror}")
    if completed_process.returncode:
        lines = filter(None, map(str.strip, reversed(completed_process.stderr.splitlines())))
        give_up(next(lines, "") or f"{' '.join(command[:3])} failed")
    return completed_process.stdout


def give_up(why: str) -> NoReturn:
    print(f"stack: {why}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
