"""Environments without packages that only another device uses, made by uv from wheels of a small torch."""

from __future__ import annotations

import subprocess
import sysconfig
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from runners.cli import environments
from runners.isolation.installation import STAND_IN
from runners.torch.stubs.demands import missing, read
from runners.torch.stubs.shared_object import Stub, shared_object

Install = Callable[..., list[str]]

LIBRARY_WITHOUT_DEMANDS = next(
    file
    for file in sorted(Path(sysconfig.get_path("stdlib"), "lib-dynload").glob("*.so"))
    if not missing({file.name: read(file)})
)


def wheel(folder: Path, package: str, *requires: str, files: dict[str, bytes] | None = None, entry: str = "") -> Path:
    """A package in the form of a package index."""
    module = package.replace("-", "_")
    path = folder / f"{module}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (files or {f"{module}.py": b""}).items():
            archive.writestr(name, content)
        needs = "".join(f"Requires-Dist: {name}\n" for name in requires)
        archive.writestr(
            f"{module}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n{needs}"
        )
        archive.writestr(
            f"{module}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{module}-1.dist-info/entry_points.txt", entry)
        archive.writestr(f"{module}-1.dist-info/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with the packages that torch needs, and a project whose lock does not contain torch yet."""
    index = tmp_path / "index"
    index.mkdir()
    for package in ("nvidia-cublas-cu12", "triton", "numpy", "scipy"):
        wheel(index, package)
    wheel(index, "npu", "torch", "nvidia-cublas-cu12", entry="[portolan.devices]\ntorch.npu = npu\n")
    monkeypatch.setattr(environments, "PROJECT", tmp_path)
    monkeypatch.setenv("PORTOLAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(index))
    return index


def add_torch(index: Path, library: bytes) -> None:
    """Put torch, with one library, into the index, and write its lock."""
    files = {"torch/__init__.py": b"", "torch/lib/libtorch.so": library}
    wheel(index, "torch", "nvidia-cublas-cu12", "triton", files=files)
    folder = index.parent / "runners" / "torch"
    folder.mkdir(parents=True)
    packages = ("nvidia_cublas_cu12", "torch", "triton")
    hashes = {name: sha256((index / f"{name}-1-py3-none-any.whl").read_bytes()).hexdigest() for name in packages}
    (folder / "requirements.txt").write_text("torch\n")
    (folder / "lock.txt").write_text("".join(f"{name}==1 \\\n    --hash=sha256:{hashes[name]}\n" for name in packages))


def list_packages(place: Path) -> list[str]:
    code = "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"
    return subprocess.check_output([place / "bin" / "python", "-I", "-c", code], text=True).split()


WHOLE = ["nvidia-cublas-cu12", "torch", "triton"]


def test_what_no_device_of_it_uses_is_not_installed(index: Path) -> None:
    add_torch(index, LIBRARY_WITHOUT_DEMANDS.read_bytes())
    place = environments.set_up("torch")
    assert list_packages(place) == ["torch"]
    assert environments.find("torch", "cpu") == environments.find("torch", "xla") == place
    assert environments.find("torch", "cuda") is None
    assert not (place / STAND_IN).exists(), "nothing had to be made up for"
    whole = environments.set_up("torch", "cuda")
    assert list_packages(whole) == WHOLE
    assert environments.find("torch", "cuda") == whole
    assert environments.find("torch", "cpu") == place


def test_a_whole_environment_serves_every_device(index: Path) -> None:
    add_torch(index, LIBRARY_WITHOUT_DEMANDS.read_bytes())
    whole = environments.set_up("torch", whole=True)
    assert list_packages(whole) == WHOLE
    assert environments.find("torch", "cpu") == environments.find("torch", "cuda") == whole


def test_a_torch_that_does_not_go_without_them_gets_them_and_a_line_says_so(index: Path) -> None:
    unreadable = shared_object(Stub("libtorch.so", ()), {})
    add_torch(index, unreadable)
    messages: list[str] = []
    place = environments.set_up("torch", say=messages.append)
    assert list_packages(place) == WHOLE
    assert environments.find("torch", "cpu") == place
    (line,) = [line for line in messages if "does not work without" in line]
    assert "libtorch.so cannot be read as a shared library" in line
    assert "\n" not in line
    assert environments.set_up_release("torch==1", say=messages.append).name.startswith("torch-1-")


@pytest.mark.parametrize("any_build", ["0", "1"])
def test_an_added_package_does_not_bring_them_either(
    index: Path, monkeypatch: pytest.MonkeyPatch, any_build: str
) -> None:
    monkeypatch.setenv("PORTOLAN_ANY_BUILD", any_build)
    add_torch(index, LIBRARY_WITHOUT_DEMANDS.read_bytes())
    place = environments.set_up("torch", additions=["npu"])
    assert list_packages(place) == ["npu", "torch"]
    assert environments.find("torch", "npu") == place


def test_a_release_goes_without_them_too(index: Path) -> None:
    add_torch(index, LIBRARY_WITHOUT_DEMANDS.read_bytes())
    assert list_packages(environments.set_up_release("torch==1")) == ["numpy", "scipy", "torch"]
    whole = environments.set_up_release("torch==1", whole=True)
    assert list_packages(whole) == sorted(["numpy", "scipy", *WHOLE])


def test_a_release_that_does_not_exist_is_one_line_that_says_what_to_choose(index: Path) -> None:
    with pytest.raises(environments.SetupFailedError, match="choose a version that the index has") as refusal:
        environments.set_up_release("torch==9.9.9")
    assert "\n" not in str(refusal.value)
