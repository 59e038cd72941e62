"""SCRAM verifiers (RFC 5802). PostgreSQL stores them instead of passwords, so no statement has to contain a password.

A password in a statement would be visible: PostgreSQL logs statements that fail, and shows running statements to its
administrators.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import b64encode

ITERATIONS = 4096
"""PostgreSQL's default. The passwords here are random, so more iterations would not make them safer."""
SALT_BYTES = 16


def verifier(password: str) -> str:
    """The verifier for ALTER ROLE … PASSWORD: ``SCRAM-SHA-256$…``. The password must be ASCII, because other characters
    would have to be normalized."""
    salt = os.urandom(SALT_BYTES)
    salted_password = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, ITERATIONS)
    stored_key = hashlib.sha256(hmac.digest(salted_password, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted_password, b"Server Key", "sha256")
    return f"SCRAM-SHA-256${ITERATIONS}:{_base64(salt)}${_base64(stored_key)}:{_base64(server)}"


def _base64(octets: bytes) -> str:
    return b64encode(octets).decode()
