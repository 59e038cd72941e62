"""The times of a coordinator, and of its runners, that is to notice a kill or a silence soon: a tenth of the product's.

What a busy machine may take for an honest answer stays as long as it is.
"""

from __future__ import annotations

from dataclasses import fields, replace

from coordinator.configuration.times import TIMES, Times

SHORT_TIMES = Times(
    full_pause_s=0.5,
    quarantine_s=1.0,
    elsewhere_s=1.0,
    tick_s=0.1,
    poll_s=0.2,
    sweep_s=1.5,
    renew_s=0.5,
    ownership_s=3.0,
    lease_s=12.0,
    longest_reconnect_s=0.2,
    longest_store_retry_s=0.5,
    restart_s=0.05,
    longest_restart_s=3.0,
    longest_away_s=0.2,
    settled_s=0.5,
)
"""Pauses and leases. A machine that is busy for seconds makes nobody break these who keeps them otherwise."""
IMPATIENT_TIMES = replace(SHORT_TIMES, silence_s=3.0, stream_silence_s=2.5, start_s=18.0, absent_s=1.2, grace_s=1.0)
"""Besides, patience with runners, for tests of a runner that falls silent or does not do its work: one that is merely
started again takes longer than 3 s on a busy machine."""
HEARTBEAT_S = 0.3
"""Ten of them lie in that silence; of a runner's own, of 5 s, six lie in 30 s."""
HEARTBEAT = {"PORTOLAN_HEARTBEAT_S": str(HEARTBEAT_S)}


def variables_of(times: Times) -> dict[str, str]:
    """The variable that gives a coordinator these times."""
    default = Times()
    changed = [field.name for field in fields(times) if getattr(times, field.name) != getattr(default, field.name)]
    return {TIMES: ", ".join(f"{name}={getattr(times, name)!r}" for name in changed)} if changed else {}
