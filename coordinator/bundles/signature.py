"""Signatures of bundles: OpenSSH's, which verify offline against a file of the keys that an operator trusts."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from coordinator.errors import BundleError

NAMESPACE = "portolan-bundle"
"""A signature for another purpose, such as of a commit, is none of a bundle."""
WITHIN_S = 600.0
"""A bundle of 1 GiB is hashed in seconds; a disk can be slow."""


@dataclass(frozen=True)
class Signers:
    """The keys that are trusted, in OpenSSH's form of allowed signers, and those that are not any more."""

    allowed: Path
    revoked: Path | None = None
    """Public keys one a line, or a revocation list that `ssh-keygen -k` made."""

    def signer_of(self, bundle: Path) -> str:
        """Return the name under which the key that signed a bundle is trusted.

        The signature is the file beside it whose name ends with ``.sig``. Raises ``BundleError`` without one, and for
        one that is of another key, of a revoked key, or of other content.
        """
        signature = Path(f"{bundle}.sig")
        for file in filter(None, (self.allowed, self.revoked)):
            if not file.is_file():
                raise BundleError(f"{file}: there is no such file of keys")
        if not signature.is_file():
            raise BundleError(
                f"{bundle} is not signed: there is no {signature}; its maker signs it with "
                f"`ssh-keygen -Y sign -n {NAMESPACE} -f KEY {bundle.name}`"
            )
        signer = self._find(bundle, signature)
        self._verify(bundle, signature, signer)
        return signer

    def _find(self, bundle: Path, signature: Path) -> str:
        principals = _ssh_keygen("find-principals", "-s", str(signature), "-f", str(self.allowed))
        names = principals.stdout.splitlines()
        if principals.returncode or not names:
            raise BundleError(
                f"{bundle} is signed by a key that {self.allowed} does not name: take it out, or add the key"
            )
        return names[0]

    def _verify(self, bundle: Path, signature: Path, signer: str) -> None:
        revoked = () if self.revoked is None else ("-r", str(self.revoked))
        options = ("-f", str(self.allowed), "-I", signer, "-n", NAMESPACE, "-s", str(signature), *revoked)
        verification = _ssh_keygen("verify", *options, content=bundle)
        if verification.returncode:
            complaints = verification.stderr.strip().splitlines() or ["ssh-keygen gives no reason"]
            raise BundleError(
                f"{bundle} has no valid signature of {signer} ({complaints[0]}): it was changed, or the key is "
                "revoked or out of its time; ask for a fresh copy with its signature"
            )


def _ssh_keygen(action: str, *options: str, content: Path | None = None) -> subprocess.CompletedProcess[str]:
    try:
        with open(content or "/dev/null", "rb") as file:
            return subprocess.run(
                ["ssh-keygen", "-Y", action, *options],
                stdin=file,
                capture_output=True,
                text=True,
                errors="backslashreplace",
                timeout=WITHIN_S,
                check=False,
            )
    except FileNotFoundError as error:
        raise BundleError(f"{error.filename} is not here: signatures are checked with OpenSSH's ssh-keygen") from error
    except subprocess.TimeoutExpired as error:
        raise BundleError(f"the signature of {content} was not checked within {WITHIN_S:g} s: try again") from error
