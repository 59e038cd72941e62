"""The addresses at which runners are allowed. The address of each connection is checked, because a name can be resolved
to any address.

Addresses in ``NEVER`` are refused even if a setting allows them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

NEVER: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("link-local", ("169.254.0.0/16", "fe80::/10", "fec0::/10")),
    (
        "where a cloud hands out a machine's keys",
        ("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::/32"),
    ),
    ("a multicast address", ("224.0.0.0/4", "ff00::/8")),
    ("no machine's address", ("0.0.0.0/8", "240.0.0.0/4", "::/128")),
    (
        "an IPv4 address in disguise",
        ("::ffff:0:0/96", "::ffff:0:0:0/96", "2002::/16", "2001::/32", "64:ff9b::/96", "64:ff9b:1::/48"),
    ),
)
LOOPBACK = ("127.0.0.0/8", "::1/128")
WORDS = {
    "loopback": LOOPBACK,
    "private": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
    "any": ("0.0.0.0/0", "::/0"),
}

_NEVER = tuple((reason, tuple(map(ipaddress.ip_network, networks))) for reason, networks in NEVER)
# Except for ::1, an address in this range is an old form of an IPv4 address.
_COMPATIBLE = ipaddress.ip_network("::/96")


@dataclass(frozen=True)
class RunnerNetworks:
    """The networks in which runners are allowed: ``RunnerNetworks.parse("loopback 10.8.0.0/16")``."""

    text: str
    allowed: tuple[Network, ...]

    @classmethod
    def parse(cls, text: str) -> RunnerNetworks:
        """Parse words and networks separated by spaces or commas. Raises ``ValueError``."""
        parts = text.replace(",", " ").split()
        if not parts:
            raise ValueError("no network is named")
        networks = (network for part in parts for network in WORDS.get(part, (part,)))
        return cls(" ".join(parts), tuple(map(ipaddress.ip_network, networks)))

    def refusal(self, address: str) -> str | None:
        """The reason why no runner is allowed at this address, as the end of a sentence; None if the address is
        allowed."""
        parsed_address = ipaddress.ip_address(address)
        if isinstance(parsed_address, IPv6Address) and parsed_address.scope_id is not None:
            return "is a link-local address, and no runner is allowed there"
        if parsed_address in _COMPATIBLE and not parsed_address.is_loopback and not parsed_address.is_unspecified:
            return "is an IPv6 form of an IPv4 address, and no runner is allowed there"
        for reason, networks in _NEVER:
            if any(parsed_address in network for network in networks):
                return f"is {reason}, and no runner is allowed there"
        if any(parsed_address in network for network in self.allowed):
            return None
        return (
            f"is outside the allowed networks of runners ({self.text}): "
            "add its network to the coordinator's PORTOLAN_RUNNER_NETWORKS"
        )

    def select(self, addresses: Iterable[str]) -> tuple[list[str], list[str]]:
        """The addresses at which a runner is allowed, and the reasons against the other addresses."""
        reasons = {address: self.refusal(address) for address in addresses}
        return (
            [address for address, reason in reasons.items() if reason is None],
            [f"{address} {reason}" for address, reason in reasons.items() if reason is not None],
        )


def is_loopback(host: str) -> bool:
    """Whether a server that listens on ``host`` can be reached only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
