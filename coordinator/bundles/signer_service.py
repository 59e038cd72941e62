"""The keys that a coordinator trusts to sign bundles: lists, adds and revokes them, and checks a bundle's signature."""

from __future__ import annotations

import asyncio
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.bundles import signer_store
from coordinator.bundles.models import Signer, SignerRequest
from coordinator.bundles.signature import FIRST_LINE, LAST_LINE, NAMESPACE, find_principal, verify
from coordinator.errors import BundleError, ConflictError, NotFoundError


async def list_signers(engine: AsyncEngine) -> list[Signer]:
    async with engine.connect() as connection:
        return [Signer.model_validate(row._mapping) for row in await signer_store.list_signers(connection)]


async def add_signer(engine: AsyncEngine, request: SignerRequest, by: str) -> Signer:
    """Trust a key. Raises ``ConflictError`` if the key is already stored, trusted or revoked."""
    try:
        async with engine.begin() as connection:
            row = await signer_store.add_signer(connection, request.name, request.key, by)
    except IntegrityError:
        async with engine.connect() as connection:
            signer = await signer_store.signer_of_key(connection, request.key)
        if signer is None:
            raise
        if signer.revoked_at is not None:
            raise ConflictError(f"this key of {signer.name} was revoked: ask the signer for a new key") from None
        raise ConflictError(
            f"this key is already trusted (signer {signer.id}, {signer.name}): you need not add it again"
        ) from None
    return Signer.model_validate(row._mapping)


async def revoke_signer(engine: AsyncEngine, signer_id: int, by: str) -> Signer:
    """Revoke a key. Raises ``NotFoundError``."""
    async with engine.begin() as connection:
        row = await signer_store.revoke_signer(connection, signer_id, by)
    if row is None:
        raise NotFoundError(f"there is no signer {signer_id}: `portolan signer list` shows the existing signers")
    return Signer.model_validate(row._mapping)


async def signer_of(engine: AsyncEngine, bundle: BinaryIO, signature: str) -> Signer:
    """Return the trusted key that signed a bundle. ``signature`` is the inner part of the file ``.sig``, without line
    breaks.

    Raises ``BundleError`` if an unknown or revoked key made the signature, or if the signature is for other content.
    """
    signers = await list_signers(engine)
    return await asyncio.to_thread(_signer_of, signers, bundle, signature)


def _signer_of(signers: Sequence[Signer], bundle: BinaryIO, signature: str) -> Signer:
    by_principal = {f"signer-{signer.id}": signer for signer in signers}
    with tempfile.TemporaryDirectory(prefix="portolan-signature-") as folder:
        signers_file, signature_file = Path(folder) / "allowed_signers", Path(folder) / "bundle.sig"
        # Revoked keys are included, so that their owners can be named.
        lines = (f'{name} namespaces="{NAMESPACE}" {signer.key}\n' for name, signer in by_principal.items())
        signers_file.write_text("".join(lines))
        signature_file.write_text("\n".join([FIRST_LINE, *textwrap.wrap(signature, 70), LAST_LINE, ""]))
        principal = find_principal(signature_file, signers_file)
        if principal is None:
            raise BundleError(
                "the bundle is signed with a key that this coordinator does not trust: ask an operator to add the key "
                "with `portolan signer add NAME KEY.pub`, or import the bundle without its .sig file, with --unsigned"
            )
        signer = by_principal[principal]
        if signer.revoked_at is not None:
            raise BundleError(
                f"the bundle is signed with a key of {signer.name} that was revoked on {signer.revoked_at:%Y-%m-%d}: "
                "ask for a bundle that is signed with a new key"
            )
        bundle.seek(0)
        # ssh-keygen gets its own file description, so that its reading does not move the position of the import.
        with open(f"/proc/self/fd/{bundle.fileno()}", "rb") as content:
            complaint = verify(content, signature_file, signers_file, principal)
    if complaint is not None:
        raise BundleError(
            f"the bundle has no valid signature of {signer.name} ({complaint}): ask for a fresh copy with its signature"
        )
    return signer
