"""Environments: what their key depends on, and which of pip's settings are passed to uv."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from runners.cli import environment_builder, environments
from runners.cli.indexes import index_variables
from runners.isolation.installation import STAND_IN, environment_hash, stand_ins
from tests.own_suite import install

LOCK = "# Made by hand.\ntorch==2.9.0 \\\n    --hash=sha256:00\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "runners" / "torch").mkdir(parents=True)
    (tmp_path / "runners" / "torch" / "lock.txt").write_text(LOCK)
    monkeypatch.setattr(environments, "PROJECT", tmp_path)
    monkeypatch.setenv("PORTOLAN_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [("2.9.0", "2.9.1", True), (":00", ":01", True), ("2.9.0", "2.9.0 ; sys_platform", True), ("hand", "foot", False)],
)
def test_the_key_is_of_what_gets_installed(project: Path, old: str, new: str, changes: bool) -> None:
    before = environments.key("torch")
    (project / "runners" / "torch" / "lock.txt").write_text(LOCK.replace(old, new))
    assert (environments.key("torch") != before) is changes


def test_an_environment_of_any_build_is_another_and_is_set_up_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked_build = complete(environments.path("torch"), {})
    monkeypatch.setenv("PORTOLAN_ANY_BUILD", "1")
    assert environments.find("torch") is None
    any_build = complete(environments.path("torch"), {})
    monkeypatch.setenv("PORTOLAN_ANY_BUILD", "0")
    assert environments.find("torch") == locked_build != any_build


def test_an_interrupted_environment_is_not_found(project: Path) -> None:
    place = environments.path("torch")
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").touch()
    assert environments.find("torch") is None
    (place / environments.COMPLETE).touch()
    assert environments.find("torch") == place


def test_a_broken_download_is_one_line_and_the_next_call_starts_anew(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = project / "uv"
    uv.write_text('#!/bin/sh\n[ "$1" = venv ] || { echo "connection lost"; exit 3; }\nmkdir -p "$5/bin"\n')
    uv.chmod(0o755)
    monkeypatch.setattr(environment_builder, "find_uv", lambda: str(uv))
    messages: list[str] = []
    for _ in range(2):
        with pytest.raises(environments.SetupFailedError, match="connection lost") as excinfo:
            environments.set_up("torch", say=messages.append)
        assert "\n" not in str(excinfo.value)
    assert any("interrupted" in line for line in messages)


def test_a_framework_that_cannot_be_imported_is_no_environment(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = project / "uv"
    uv.write_text(
        f'#!/bin/sh\n[ "$1" = venv ] && mkdir -p "$5/bin" && ln -s {sys.executable} "$5/bin/python"\nexit 0\n'
    )
    uv.chmod(0o755)
    monkeypatch.setattr(environment_builder, "find_uv", lambda: str(uv))
    with pytest.raises(environments.SetupFailedError, match="No module named 'torch'"):
        environments.set_up("torch", say=print)
    assert environments.find("torch") is None


def test_a_device_that_needs_other_packages_has_an_environment_of_its_own(project: Path) -> None:
    (project / "runners" / "torch" / "lock-tpu.txt").write_text("torch-xla==1\n")
    assert environments.path("torch", "cpu") == environments.path("torch", "xla") == environments.path("torch")
    assert environments.path("torch", "tpu").name.startswith("torch-tpu-")


def test_a_cache_that_cannot_be_written_is_one_line(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment_builder, "find_uv", lambda: "uv")
    (project / "cache").write_text("a file, not a folder")
    with pytest.raises(environments.SetupFailedError, match="PORTOLAN_CACHE"):
        environments.set_up("torch", say=print)


def test_pips_indexes_are_passed_on_unless_uv_has_its_own() -> None:
    pip = {"PIP_INDEX_URL": "https://one", "PIP_EXTRA_INDEX_URL": "https://two", "PIP_FIND_LINKS": "/wheels"}
    variables = index_variables(pip)
    assert variables["UV_DEFAULT_INDEX"] == "https://one"
    assert variables["UV_INDEX"] == "https://two"
    assert variables["UV_FIND_LINKS"] == "/wheels"
    assert index_variables(pip | {"UV_DEFAULT_INDEX": "https://uv"})["UV_DEFAULT_INDEX"] == "https://uv"


def test_bytecode_is_compiled_even_where_python_is_told_not_to() -> None:
    assert "PYTHONDONTWRITEBYTECODE" not in index_variables({"PYTHONDONTWRITEBYTECODE": "1"})


def test_what_stands_in_for_packages_is_told_with_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert stand_ins() == {}
    (tmp_path / STAND_IN).write_text('{"CUDA": "not installed, stubs of 14 libraries"}\n')
    assert stand_ins() == {"CUDA": "not installed, stubs of 14 libraries"}


def test_the_environment_hash_is_of_versions_and_not_of_spelling() -> None:
    one = environment_hash([("Torch", "2.9.0"), ("ruamel.yaml", "1")], "3.11.7")
    assert one == environment_hash([("ruamel-yaml", "1"), ("torch", "2.9.0")], "3.11.7")
    assert one != environment_hash([("ruamel-yaml", "1"), ("torch", "2.9.1")], "3.11.7")
    assert one != environment_hash([("ruamel-yaml", "1"), ("torch", "2.9.0")], "3.12.0")
    assert one != environment_hash([("ruamel-yaml", "1"), ("torch", "2.9.0")], "3.11.7", any_build=True)


def package(folder: Path, line: str = "") -> Path:
    (folder / "portolan_npu").mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "portolan-npu"\n')
    (folder / "portolan_npu" / "__init__.py").write_text(line)
    return folder


def complete(environment: Path, mark: dict[str, object]) -> Path:
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").touch()
    (environment / environments.COMPLETE).write_text(json.dumps(mark))
    return environment


def test_a_package_added_makes_another_environment_and_leaves_the_plain_one(project: Path) -> None:
    plain = environments.path("torch")
    npu = package(project / "npu")
    with_package = environments.path("torch", "", [str(npu)])
    assert with_package != plain == environments.path("torch", "", [])
    assert environments.path("torch", "", [str(package(project / "elsewhere"))]) == with_package, "the content counts"
    (npu / "build").mkdir()
    (npu / "build" / "left.py").touch()
    assert environments.path("torch", "", [str(npu)]) == with_package, "what building leaves behind does not count"
    package(npu, "VARIABLES = {}")
    assert environments.path("torch", "", [str(npu)]) != with_package


def test_a_device_that_a_package_brings_is_found_by_its_word(project: Path) -> None:
    plain = complete(environments.path("torch"), {"name": "torch"})
    mark = {"plain": environments.key("torch"), "brought": ["torch.npu"]}
    first = complete(environments.path("torch", "", ["npu==1"]), mark)
    second = complete(environments.path("torch", "", ["npu==2"]), mark)
    os.utime(first / environments.COMPLETE, (1, 1))
    assert environments.find("torch", "npu") == second, "the latest of several"
    assert environments.find("torch", "cpu") == plain == environments.find("torch", "xla")
    environments.set_up("torch", say=lambda line: None, additions=["npu==1"])
    assert environments.find("torch", "npu") == first, "asked for again, it is the latest"


def test_an_added_environment_of_another_lock_is_not_found(project: Path) -> None:
    plain = complete(environments.path("torch"), {"name": "torch"})
    complete(environments.path("torch", "", ["npu==1"]), {"plain": "of an earlier lock", "brought": ["torch.npu"]})
    assert environments.find("torch", "npu") == plain


def test_a_package_that_brings_nothing_is_one_line_that_says_what_it_needs(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = project / "uv"
    uv.write_text('#!/bin/sh\n[ "$1" = venv ] && mkdir -p "$5/bin" && ln -s /bin/true "$5/bin/python"\nexit 0\n')
    uv.chmod(0o755)
    monkeypatch.setattr(environment_builder, "find_uv", lambda: str(uv))
    with pytest.raises(
        environments.SetupFailedError,
        match=r"offers no device or suite: .* torch\.NAME .* portolan\.devices or portolan\.suites",
    ):
        environments.set_up("torch", say=print, additions=[str(package(project / "npu"))])


def test_a_package_may_bring_a_suite_alone(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = install(project / "packages", "torch.mine = mine")
    site = f'"$5/lib/python{sys.version_info.major}.{sys.version_info.minor}'
    uv = project / "uv"
    uv.write_text(
        '#!/bin/sh\n[ "$1" = venv ] || exit 0\nmkdir -p "$5/bin" && ln -s /bin/true "$5/bin/python"\n'
        f'mkdir -p {site}" && cp -r {packages} {site}/site-packages"\n'
    )
    uv.chmod(0o755)
    monkeypatch.setattr(environment_builder, "find_uv", lambda: str(uv))
    environment = environments.set_up("torch", say=print, additions=[str(package(project / "npu"))])
    assert json.loads((environment / environments.COMPLETE).read_text())["brought"] == [], "a suite is no device"


@pytest.mark.parametrize("nowhere", ["./nowhere", "/no/where", ""])
def test_a_folder_that_is_not_there_is_one_line(project: Path, nowhere: str) -> None:
    with pytest.raises(environments.SetupFailedError, match=f"--with {nowhere}: there is no such folder"):
        environments.set_up("torch", say=print, additions=[nowhere])
