"""The pause before a retry. It doubles with each consecutive failure, up to a maximum."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """Computes pauses: ``Backoff(first_s=0.5, longest_s=30).pause_s(failures)``."""

    first_s: float
    longest_s: float

    def pause_s(self, failures: int) -> float:
        """The pause after this number of consecutive failures."""
        # Above 2^64 every maximum is exceeded, and floats end at 2^1024.
        return min(self.first_s * 2.0 ** min(max(failures - 1, 0), 64), self.longest_s)
