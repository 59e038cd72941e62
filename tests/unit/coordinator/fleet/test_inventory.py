"""The devices of a host, read from a folder with the structure of its root, and what a container needs for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.errors import DeviceMissingError
from coordinator.fleet.inventory import DeviceAccess, Inventory, decide_access, find_devices, is_allowed


def make_files(root: Path, *files: str) -> None:
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def test_a_host_without_accelerators_has_its_cpu(tmp_path: Path) -> None:
    inventory = find_devices([], tmp_path)
    assert inventory == Inventory()
    assert [is_allowed(inventory, device) for device in ("cpu", "xla", "cuda", "gpu", "tpu")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert decide_access(inventory, "cpu") == DeviceAccess()


def test_gpus_come_through_the_runtime_where_the_engine_has_it(tmp_path: Path) -> None:
    make_files(tmp_path, "dev/nvidia0", "dev/nvidia1", "dev/nvidiactl", "dev/nvidia-uvm", "etc/cdi/nvidia.yaml")
    inventory = find_devices(["runc", "nvidia"], tmp_path)
    assert inventory.nvidia == ("/dev/nvidia0", "/dev/nvidia1")
    assert decide_access(inventory, "cuda") == decide_access(inventory, "gpu") == DeviceAccess(gpus=True)


def test_gpus_come_through_the_device_interface_where_there_is_no_runtime(tmp_path: Path) -> None:
    make_files(tmp_path, "dev/nvidia0", "var/run/cdi/nvidia-container-toolkit.json")
    assert decide_access(find_devices(["runc"], tmp_path), "cuda") == DeviceAccess(cdi=("nvidia.com/gpu=all",))


def test_a_gpu_that_the_engine_cannot_give_is_told_with_what_to_install(tmp_path: Path) -> None:
    make_files(tmp_path, "dev/nvidia0")
    inventory = find_devices(["runc"], tmp_path)
    assert not is_allowed(inventory, "cuda")
    with pytest.raises(DeviceMissingError, match="Container Toolkit"):
        decide_access(inventory, "cuda")


def test_a_runtime_without_a_gpu_is_no_gpu(tmp_path: Path) -> None:
    with pytest.raises(DeviceMissingError, match="no NVIDIA GPU"):
        decide_access(find_devices(["nvidia"], tmp_path), "cuda")


def test_a_tpu_comes_with_its_devices_and_who_may_open_them(tmp_path: Path) -> None:
    make_files(tmp_path, "dev/accel0", "dev/accel1")
    group = (tmp_path / "dev" / "accel0").stat().st_gid
    inventory = find_devices([], tmp_path)
    assert decide_access(inventory, "tpu") == DeviceAccess(
        paths=("/dev/accel0", "/dev/accel1"), groups=(group,) if group else ()
    )


def test_devices_behind_vfio_are_tpus_only_where_google_made_one_of_them(tmp_path: Path) -> None:
    make_files(tmp_path, "dev/vfio/0", "dev/vfio/vfio", "sys/bus/pci/devices/0000:00:05.0/vendor")
    assert find_devices([], tmp_path).tpu == ()
    (tmp_path / "sys/bus/pci/devices/0000:00:05.0/vendor").write_text("0x1ae0\n")
    assert find_devices([], tmp_path).tpu == ("/dev/vfio/0", "/dev/vfio/vfio")
