"""The first use of the device in the process of a case with a tag of ``FirstUse``.

The device is primed after that, so that the case begins as in any other process. Nothing here raises an error of the
framework: if the device does not work after such a first use, the case fails when it uses the device.
"""

from __future__ import annotations

import contextlib
import threading
from time import perf_counter

from protocol.enums import FirstUse
from runners.isolation.explanation import host_of
from runners.isolation.harness import prepared_call
from runners.isolation.warm_up import warm_up
from runners.suite.cases import Case
from runners.suite.device import Device


def use_first(device: Device, case: Case) -> float:
    """Use the device for the first time as the case requires. Return the milliseconds that priming took; 0 without."""
    if FirstUse.host_first in case.tags:
        with contextlib.suppress(Exception):
            call_on_host(device, case)
    if FirstUse.unprimed in case.tags:
        return 0.0
    began = perf_counter()
    if FirstUse.thread_first in case.tags:
        thread = threading.Thread(target=_prime, args=(device,), name="first use")
        thread.start()
        thread.join()
    else:
        _prime(device)
    init_ms = (perf_counter() - began) * 1_000
    with contextlib.suppress(Exception):
        warm_up(device)
    return init_ms


def call_on_host(device: Device, case: Case) -> None:
    """Make the call of a case on the host, with the inputs of the case."""
    host = host_of(device) or device
    call = prepared_call(host, case)
    if call is not None:
        host.to_host(call())


def _prime(device: Device) -> None:
    with contextlib.suppress(Exception):
        device.prime()
