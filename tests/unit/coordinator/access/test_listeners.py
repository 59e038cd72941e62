"""Each address of the coordinator serves its own routes: the runners' port serves enrollment, and REST has its own
address."""

from __future__ import annotations

import pytest

from coordinator.access.listeners import ENROLMENT, HEALTH, Listeners

RUNNERS_PORT, REST_PORT = 8643, 8642
REST_ADDRESS, OTHER_ADDRESS = "192.0.2.1", "192.0.2.2"
ENROL_METHOD, ENROL_PATH = ENROLMENT


async def is_served(listeners: Listeners, method: str, path: str, address: str, port: int) -> bool:
    return await listeners.refusal(method, path, address, port) is None


@pytest.mark.parametrize(
    ("method", "path", "is_port_served"),
    [
        (ENROL_METHOD, ENROL_PATH, True),
        ("GET", ENROL_PATH, False),
        (ENROL_METHOD, "/api/v1/campaigns", False),
        ("GET", "/", False),
        ("GET", HEALTH, True),
    ],
)
async def test_the_port_of_the_runners_serves_enrolment_and_health_alone(
    method: str, path: str, is_port_served: bool
) -> None:
    listeners = Listeners(RUNNERS_PORT, None)
    assert await is_served(listeners, method, path, OTHER_ADDRESS, RUNNERS_PORT) is is_port_served
    assert await is_served(listeners, method, path, OTHER_ADDRESS, REST_PORT)


@pytest.mark.parametrize(
    ("address", "is_address_served"),
    [
        (REST_ADDRESS, True),
        (f"::ffff:{REST_ADDRESS}", True),
        (OTHER_ADDRESS, False),
        (f"::ffff:{OTHER_ADDRESS}", False),
        ("127.0.0.1", True),
        ("::1", True),
        ("fe80::1%eth0", False),
    ],
)
async def test_rest_is_served_at_its_address_and_to_this_machine(address: str, is_address_served: bool) -> None:
    listeners = Listeners(RUNNERS_PORT, REST_ADDRESS)
    assert await is_served(listeners, "GET", "/", address, REST_PORT) is is_address_served
    assert await is_served(listeners, "GET", HEALTH, address, REST_PORT)


async def test_an_address_without_a_name_serves_nothing_by_mistake() -> None:
    too_long_for_a_name = "a" * 64
    assert not await is_served(Listeners(None, too_long_for_a_name), "GET", "/", OTHER_ADDRESS, REST_PORT)


async def test_without_an_address_of_its_own_rest_is_served_everywhere() -> None:
    assert await is_served(Listeners(None, None), "GET", "/", OTHER_ADDRESS, REST_PORT)
