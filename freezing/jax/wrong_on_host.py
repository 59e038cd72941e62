"""Results that JAX gets wrong on the CPU: which functions somebody looked at, and what is wrong with them.

Where an independent reference and the CPU differ, the reference may follow another definition or another branch, or be
the one that is wrong. So a case that fails on the CPU is kept of these functions alone; of any other the sample is
listed with what the reference says. Each of them has a script in ``docs/explanation/defects.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from protocol.enums import Judge

REVIEWED: Mapping[str, Collection[str]] = {
    Judge.numpy: (),
    Judge.differences: (),
    Judge.float64: (),
}
"""The functions that somebody looked at, by the reference that they differ from; the last two judge gradients."""
