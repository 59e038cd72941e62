"""The allowed addresses of a runner, whatever its host name is."""

from __future__ import annotations

import pytest

from coordinator.runner_requests.addresses import RunnerNetworks

EVERYTHING = RunnerNetworks.parse("any")
LOOPBACK = RunnerNetworks.parse("loopback")


@pytest.mark.parametrize(
    "address",
    [
        *("169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%2", "fec0::1"),
        *("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
        *("224.0.0.1", "239.255.255.255", "255.255.255.255", "ff02::1"),
        *("0.0.0.0", "0.1.2.3", "::", "240.0.0.1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1"),
        *("2002:7f00:1::", "2002:a9fe:a9fe::1", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "2001:0:1::1"),
    ],
)
def test_some_addresses_are_refused_whatever_is_allowed(address: str) -> None:
    refusal = EVERYTHING.refusal(address)
    assert refusal is not None
    assert refusal.endswith("and no runner is allowed there")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.255.255.254", "::1"])
def test_loopback_is_allowed_by_its_word(address: str) -> None:
    assert LOOPBACK.refusal(address) is None
    assert EVERYTHING.refusal(address) is None
    assert RunnerNetworks.parse("private").refusal(address) is not None


@pytest.mark.parametrize("address", ["10.0.0.1", "192.168.1.1", "8.8.8.8", "2001:db8::1", "fd12::1"])
def test_what_is_not_allowed_is_refused_with_what_to_do(address: str) -> None:
    assert "add its network to the coordinator's PORTOLAN_RUNNER_NETWORKS" in str(LOOPBACK.refusal(address))
    assert EVERYTHING.refusal(address) is None


def test_networks_are_named_by_words_and_by_numbers() -> None:
    networks = RunnerNetworks.parse("loopback, 10.8.0.0/16 2001:db8::/32")
    assert [networks.refusal(address) for address in ("127.0.0.1", "10.8.3.4", "2001:db8::7")] == [None] * 3
    assert networks.refusal("10.9.0.1") is not None
    assert RunnerNetworks.parse("private").refusal("172.31.0.9") is None
    assert RunnerNetworks.parse("10.8.1.7").refusal("10.8.1.7") is None


@pytest.mark.parametrize("text", ["", " , ", "lopback", "10.8.0.1/16", "10.8.0.0/40", "http://box"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        RunnerNetworks.parse(text)


def test_of_several_addresses_only_those_that_are_allowed_are_used() -> None:
    allowed_addresses, reasons = LOOPBACK.select(["169.254.169.254", "127.0.0.1"])
    assert allowed_addresses == ["127.0.0.1"]
    assert reasons == ["169.254.169.254 is link-local, and no runner is allowed there"]
