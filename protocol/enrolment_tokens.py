"""Enrollment tokens. Each token permits one runner to register itself under one name and for one target.

The coordinator stores one key and no list of tokens. A token consists of the runner's name, the target and a code,
which proves that somebody with the key made the token. A person who obtains a token can register this one runner, but
cannot compute the key. A ``+`` in the runner's name stands for any number, so that the replicas of one service can
share a token. Standard library only, because the scripts that make secrets run where nothing is installed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass

PREFIX = "portolan-enrol"
KEY = r"^[!-~]{32,500}$"
"""The form of an enrollment key: printable ASCII characters without spaces, and so many that nobody can guess the key
from a token."""
_TOKEN = re.compile(
    rf"{PREFIX}~(?P<name>[A-Za-z0-9_.+-]{{1,64}})~(?P<target>[A-Za-z0-9_.-]{{1,128}}/[A-Za-z0-9_.-]{{1,128}})"
    r"~(?P<code>[A-Za-z0-9_-]{43})"
)


@dataclass(frozen=True)
class EnrolmentToken:
    """The parts of a token. ``target`` is framework/device."""

    name: str
    target: str
    code: str

    @classmethod
    def make(cls, key: str, name: str, target: str) -> EnrolmentToken:
        """Make a token. Raises ``ValueError`` if a runner cannot have this name or target."""
        return cls.parse(f"{PREFIX}~{name}~{target}~{_code(key, name, target)}")

    @classmethod
    def parse(cls, text: str) -> EnrolmentToken:
        """Parse a token. Raises ``ValueError`` if the text is not a token."""
        match = _TOKEN.fullmatch(text)
        if match is None:
            raise ValueError(
                "not an enrolment token for a NAME of letters, digits, '_', '.', '-' and a FRAMEWORK/DEVICE"
            )
        return cls(**match.groupdict())

    def __str__(self) -> str:
        return f"{PREFIX}~{self.name}~{self.target}~{self.code}"

    def is_of(self, key: str) -> bool:
        return hmac.compare_digest(self.code, _code(key, self.name, self.target))

    def is_for(self, name: str) -> bool:
        """Whether the token permits a runner with this name to register."""
        return re.fullmatch("[0-9]{1,9}".join(map(re.escape, self.name.split("+"))), name) is not None


def _code(key: str, name: str, target: str) -> str:
    digest = hmac.digest(key.encode(), f"{PREFIX}\0{name}\0{target}".encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
