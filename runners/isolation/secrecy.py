"""Hides a runner's secrets from its cases: in process memory that they could read, and in their reports."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from protocol.outcomes import Evidence, Outcome, PlacementProof
from protocol.redaction import SHORTEST, mask, mask_tail, secret_values, without_own_secrets

_PR_SET_DUMPABLE = 4
_libc = ctypes.CDLL(None)
_libc.getenv.restype = ctypes.c_void_p
_libc.getenv.argtypes = [ctypes.c_char_p]


def hide_own_variables() -> None:
    """Overwrite this process's secrets where ``/proc/PID/environ`` shows them. Read their values before this call.

    Deleting a variable is not enough, because the kernel shows the memory in which the process received it. After this
    call, other processes of the same user cannot read this process's memory either, unless they may read everything.
    """
    for name in os.environ.keys() - without_own_secrets(os.environ).keys():
        place = _libc.getenv(name.encode())
        if place:
            ctypes.memset(place, ord("*"), len(os.environb[name.encode()]))
        del os.environ[name]
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


class Redaction:
    """Removes known secret values from outcomes."""

    def __init__(self) -> None:
        self._secrets = secret_values(os.environ)

    def hide(self, *secrets: str) -> None:
        """Remove these values from all further outcomes."""
        self._secrets |= {secret for secret in secrets if len(secret) >= SHORTEST}

    def outcome(self, outcome: Outcome) -> Outcome:
        """Return the outcome without secrets. It is nearly always the same object."""
        if not self._secrets:
            return outcome
        updates: dict[str, object] = {}
        if outcome.log_tail:
            tail = outcome.log_tail
            whole = len(tail.encode()) >= outcome.log_bytes
            updates["log_tail"] = mask(tail, self._secrets) if whole else mask_tail(tail, self._secrets)
        if outcome.evidence is not None:
            updates["evidence"] = self._evidence(outcome.evidence)
        if self._stand_in(outcome.proof):
            updates["proof"] = self._proof(outcome.proof)
        return outcome.model_copy(update=updates) if updates else outcome

    def _evidence(self, evidence: Evidence) -> Evidence:
        texts = {
            name: mask(value, self._secrets)
            for name in ("exception", "message", "stage", "mismatch", "reason", "operation")
            if (value := getattr(evidence, name)) is not None
        }
        return evidence.model_copy(update={**texts, "frames": self._lines(evidence.frames)})

    def _stand_in(self, proof: PlacementProof) -> bool:
        return any(secret in name for secret in self._secrets for name in (*proof.devices, *proof.fallbacks))

    def _proof(self, proof: PlacementProof) -> PlacementProof:
        fallbacks: dict[str, int] = {}
        for operation, count in proof.fallbacks.items():
            name = mask(operation, self._secrets)
            fallbacks[name] = fallbacks.get(name, 0) + count
        return proof.model_copy(update={"devices": self._lines(proof.devices), "fallbacks": fallbacks})

    def _lines(self, lines: Iterable[str]) -> list[str]:
        return [mask(line, self._secrets) for line in lines]
