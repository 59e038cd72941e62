"""OpenSSH signatures of bundles. They are verified offline, with a file of the keys that an operator trusts. A bundle
without a signature is accepted only if the person says so."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from coordinator.errors import BundleError

NAMESPACE = "portolan-bundle"
"""The namespace of signatures. A signature for another purpose, such as a commit, is not valid for a bundle."""
FIRST_LINE = "-----BEGIN SSH SIGNATURE-----"
LAST_LINE = "-----END SSH SIGNATURE-----"
SIGNATURE = "Portolan-Signature"
"""The header of an upload that contains the signature."""
LONGEST_SIGNATURE = 8192
"""The maximum number of characters of a signature. An RSA key of 16,384 bits makes one of 5,600 characters."""
HOW_TO_SIGN = f"ssh-keygen -Y sign -n {NAMESPACE} -f KEY"
"""The command that signs a bundle, without the bundle's name."""
KEY_REVOCATION_LIST = b"SSHKRL\n\0"
"""The first bytes of a revocation list of ``ssh-keygen -k``."""
ENCODED_KEY = b"AAAA"
"""The first characters of every public key, which are the length of its type's name in base64."""
WITHIN_S = 600.0
"""The time limit for a verification. A bundle of 1 GiB is hashed in seconds, but a disk can be slow."""


def signature_file(bundle: Path) -> Path:
    """Return the path of a bundle's signature, which ``ssh-keygen`` writes next to the bundle."""
    return Path(f"{bundle}.sig")


def require_signature(bundle: Path) -> None:
    """Raise ``BundleError`` if there is no signature file next to a bundle, or next to a file of evidence.

    Raises ``OSError`` if the bundle itself cannot be opened.
    """
    # If there is no such file, or if it is a folder, the error says so, and not that it is unsigned.
    bundle.open("rb").close()
    signature = signature_file(bundle)
    if not signature.is_file():
        raise BundleError(
            f"{bundle} is not signed: ask its maker for {signature.name}, which `{HOW_TO_SIGN} {bundle.name}` writes, "
            "or accept the file without a signature, with --unsigned"
        )


def read_signature(bundle: Path) -> str | None:
    """Return the inner part of a bundle's signature file as one line; None if there is no such file.

    Raises ``BundleError`` if the file is not a signature.
    """
    file = signature_file(bundle)
    try:
        lines = file.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return None
    if len(lines) < 3 or (lines[0], lines[-1]) != (FIRST_LINE, LAST_LINE):
        raise BundleError(f"{file} is not a signature of ssh-keygen: ask for a new signature, or remove the file")
    return "".join(lines[1:-1])


@dataclass(frozen=True)
class Signers:
    """The trusted keys, in OpenSSH's format of allowed signers, and the revoked keys."""

    allowed: Path | None
    """None if no key is trusted."""
    revoked: Path | None = None
    """Public keys, one per line, or a revocation list made by `ssh-keygen -k`."""
    accept_unsigned: bool = False
    """Whether bundles without a signature are accepted. A signature that exists is verified in any case."""

    def signer_of(self, bundle: Path) -> str | None:
        """Return the name under which the key that signed a bundle, or a file of evidence, is trusted; None if the
        file is not signed and is accepted without a signature.

        Raises ``BundleError`` if the signature is missing and needed, if an unknown or revoked key made it, or if it is
        for other content.
        """
        for file in filter(None, (self.allowed, self.revoked)):
            if not file.is_file():
                raise BundleError(f"the file of keys {file} does not exist: check its name")
        # With a file of something else, ssh-keygen rejects every signature and gives no reason.
        if self.revoked is not None and not is_key_list(self.revoked):
            raise BundleError(f"{self.revoked} is not a list of keys: write one public key per line")
        signature = signature_file(bundle)
        if self.accept_unsigned and not signature.is_file():
            return None
        require_signature(bundle)
        if self.allowed is None:
            raise BundleError(f"{bundle} is signed: name the keys that you trust with --signers")
        signer = find_principal(signature, self.allowed)
        if signer is None:
            raise BundleError(
                f"{bundle} is signed by a key that {self.allowed} does not list: add the key to {self.allowed} if you "
                "trust it, or omit the bundle"
            )
        complaint = self._complaint(bundle, self.allowed, signer, self.revoked)
        if complaint is None:
            return signer
        # ssh-keygen gives no reason for a revoked key, so the signature is also verified without the revoked keys.
        if self.revoked is not None and self._complaint(bundle, self.allowed, signer) is None:
            raise BundleError(
                f"{bundle} is signed with a key of {signer} that {self.revoked} revokes: ask for a signature with a "
                "new key, or omit the bundle"
            )
        raise BundleError(
            f"{bundle} has no valid signature of {signer} ({complaint}): check whether the key is expired, or ask for "
            "a fresh copy with its signature"
        )

    @staticmethod
    def _complaint(bundle: Path, allowed: Path, signer: str, revoked: Path | None = None) -> str | None:
        with open(bundle, "rb") as content:
            return verify(content, signature_file(bundle), allowed, signer, revoked)


def is_key_list(file: Path) -> bool:
    """Whether a file of revoked keys has only public keys, comments and empty lines, or is a revocation list of
    ``ssh-keygen -k``."""
    content = file.read_bytes()
    if content.startswith(KEY_REVOCATION_LIST):
        return True
    lines = filter(None, (line.partition(b"#")[0].split() for line in content.splitlines()))
    return all(any(word.startswith(ENCODED_KEY) for word in words) for words in lines)


def find_principal(signature: Path, signers: Path) -> str | None:
    """Return the name that a file of allowed signers gives to the key that made a signature; None if the key is not
    listed.

    Raises ``BundleError`` if OpenSSH is not installed.
    """
    principals = _ssh_keygen("find-principals", "-s", str(signature), "-f", str(signers))
    names = principals.stdout.splitlines()
    return names[0] if names and not principals.returncode else None


def verify(
    content: BinaryIO, signature: Path, signers: Path, principal: str, revoked_keys: Path | None = None
) -> str | None:
    """Return the reason why the signature is invalid for this content and principal; None if it is valid.

    ``content`` is read from its current position. Raises ``BundleError`` if the check itself fails.
    """
    options = ("-f", str(signers), "-I", principal, "-n", NAMESPACE, "-s", str(signature))
    verification = _ssh_keygen(
        "verify", *options, *(() if revoked_keys is None else ("-r", str(revoked_keys))), content=content
    )
    if not verification.returncode:
        return None
    return next(iter(verification.stderr.strip().splitlines()), "ssh-keygen gives no reason")


def _ssh_keygen(action: str, *options: str, content: BinaryIO | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", action, *options],
            stdin=subprocess.DEVNULL if content is None else content,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=WITHIN_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise BundleError(
            f"{error.filename} is not installed: install OpenSSH, whose ssh-keygen checks signatures"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise BundleError(f"ssh-keygen did not check the signature within {WITHIN_S:g} s: try again") from error
