"""REST models of the keys that sign bundles."""

from __future__ import annotations

import base64
import binascii
import hashlib
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from coordinator.access.models import TokenName

LONGEST_KEY = 4096
KINDS = r"ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp\d{3}|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com"
KEY = rf"^({KINDS}) [A-Za-z0-9+/]+={{0,2}}( [^\r\n]*)?$"


def _is_whole(key: str) -> str:
    """Return the key without its comment. Raises ``ValueError`` if the key's content has another type than the key
    declares."""
    kind, content = key.split()[:2]
    try:
        blob = base64.b64decode(content, validate=True)
    except binascii.Error:
        raise ValueError("the key is incomplete: give the content of the file that ends with .pub") from None
    if not blob.startswith(len(kind).to_bytes(4) + kind.encode()):
        raise ValueError("the key is incomplete: give the content of the file that ends with .pub")
    return f"{kind} {content}"


PublicKey = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=LONGEST_KEY, pattern=KEY),
    AfterValidator(_is_whole),
]
"""A public key on one line, as OpenSSH writes it: ``ssh-ed25519 AAAA… comment``."""


class SignerRequest(BaseModel):
    """A key to trust."""

    model_config = ConfigDict(extra="forbid")

    name: TokenName = Field(
        description="Name of the laboratory or person that owns the key. Pages show it with the evidence."
    )
    key: PublicKey = Field(description="The public key, the content of a file such as `id_ed25519.pub`.")


class Signer(BaseModel):
    """A key that signs bundles."""

    id: int
    name: str
    key: str
    added_by: str
    created_at: datetime
    revoked_at: datetime | None
    """The time of revocation. Since then, no signature of the key is trusted, whenever the signature was made."""
    revoked_by: str | None

    @property
    def fingerprint(self) -> str:
        """The key's fingerprint, as ``ssh-keygen -l`` shows it."""
        blob = base64.b64decode(self.key.split()[1])
        return f"SHA256:{base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip('=')}"


class SignerList(BaseModel):
    signers: list[Signer]
