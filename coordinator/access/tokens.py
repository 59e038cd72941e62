"""Creates and recognizes tokens, sessions and login links. Does no I/O except for random numbers.

Only the SHA-256 of a secret is stored. Passwords need a slow hash, because people choose guessable passwords. These
secrets have 256 random bits, which cannot be guessed at any speed. Lookups use the hash, so the time of a comparison
reveals nothing about a secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from secrets import choice, token_urlsafe

PREFIX = "portolan_"
NAMING = "abcdefghijkmnpqrstuvwxyz23456789"
"""The characters of readable prefixes, without look-alikes."""
TOKEN = re.compile(r"(portolan_[a-z0-9]{8})_[A-Za-z0-9_-]{43}")

TOKEN_DAYS = 90
MOST_TOKEN_DAYS = 366
SESSION_LASTS = timedelta(hours=12)
LINK_LASTS = timedelta(minutes=10)


@dataclass(frozen=True)
class Secret:
    """A secret that is shown once, with its hash and its prefix, which are stored."""

    text: str = field(repr=False)

    @property
    def sha256(self) -> bytes:
        return digest(self.text)

    @property
    def prefix(self) -> str:
        """The readable part, by which people distinguish tokens."""
        match = TOKEN.fullmatch(self.text)
        return match[1] if match else ""


def new_token() -> Secret:
    return Secret(f"{PREFIX}{''.join(choice(NAMING) for _ in range(8))}_{token_urlsafe(32)}")


def new_secret() -> Secret:
    """Create the secret of a session or a link."""
    return Secret(token_urlsafe(32))


def digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()


def local_path(path: str | None) -> str:
    """The page to show after signing in. Only paths of this site are accepted; otherwise it is ``/campaigns``."""
    is_local = path is not None and re.fullmatch(r"/(?![/\\])[^\\\x00-\x20]*", path) is not None
    return path if path is not None and is_local else "/campaigns"
