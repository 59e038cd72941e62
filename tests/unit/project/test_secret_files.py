"""The script makes tokens for exactly the runners that compose.yaml and docker/stack.yaml start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from protocol.enrolment_tokens import EnrolmentToken
from scripts import secret_files

ROOT = Path(__file__).resolve().parents[3]


def services(file: str) -> dict[str, str]:
    """The text of each service that is a runner, by name."""
    text = (ROOT / file).read_text().partition("\nservices:\n")[2]
    service_texts = re.findall(r"^  ([a-z-]+):\n((?:    .*\n)+)", text, re.MULTILINE)
    return {name: body for name, body in service_texts if "<<: *runner\n" in body}


def target(body: str) -> str:
    framework, device = re.findall(r" serve (\S+) (\S+) ", body)[0]
    return f"{framework}/{device}"


@pytest.fixture
def secrets_folder(tmp_path: Path) -> Path:
    secret_files.make(tmp_path)
    return tmp_path


def test_each_runner_of_compose_has_a_token_of_its_own(secrets_folder: Path) -> None:
    runners = services("compose.yaml")
    assert {name: target(body) for name, body in runners.items()} == secret_files.RUNNERS
    for name, body in runners.items():
        (source,) = re.findall(r"source: ([\w-]+), target: enrolment}", body)
        (runner_name,) = re.findall(r" --name (\S+)", body)
        token = EnrolmentToken.parse((secrets_folder / source).read_text())
        assert (source, runner_name) == (f"enrolment-{name}", name)
        assert (token.name, token.target) == (name, target(body))


def test_the_replicas_of_a_service_of_the_stack_share_one_for_their_names(secrets_folder: Path) -> None:
    text = (ROOT / "docker/stack.yaml").read_text()
    (usual,) = re.findall(r"^  hostname: (\S+)", text, re.MULTILINE)
    runners = services("docker/stack.yaml")
    assert runners.keys() == {name for name in secret_files.RUNNERS if not name.endswith("-tpu")}
    for name, body in runners.items():
        host = (re.findall(r"    hostname: (\S+)", body) or [usual])[0].replace("{{.Task.Slot}}", "12")
        assert f'enrolment-{name}: {{file: "${{PORTOLAN_SECRETS:-./secrets}}/replicas-{name}"}}' in text
        token = EnrolmentToken.parse((secrets_folder / f"replicas-{name}").read_text())
        assert token.is_for(f"{host}-{target(body).replace('/', '-')}")
        assert token.target == target(body)


def test_what_is_there_stays_and_tokens_follow_the_key(secrets_folder: Path) -> None:
    before = {file.name: file.read_text() for file in secrets_folder.iterdir()}
    secret_files.make(secrets_folder)
    assert {file.name: file.read_text() for file in secrets_folder.iterdir()} == before
    (secrets_folder / "enrolment-key").unlink()
    secret_files.make(secrets_folder)
    changed_files = {file.name for file in secrets_folder.iterdir() if file.read_text() != before[file.name]}
    assert changed_files == {
        "enrolment-key",
        *(name for name in before if name.startswith(("enrolment-", "replicas-"))),
    }
