"""Short times for a coordinator and its runners, a tenth of the product's, so that they soon notice a kill or a
silence.

Times that a busy machine could exceed without a fault are not shortened.
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
"""Short pauses and leases. They are long enough that no owner loses its lease if the machine is busy for seconds."""
IMPATIENT_TIMES = replace(SHORT_TIMES, silence_s=3.0, stream_silence_s=2.5, start_s=18.0, absent_s=1.2, grace_s=1.0)
"""In addition, short patience with runners, for tests in which a runner is silent or does not work. A mere restart
takes longer than 3 s on a busy machine."""
HEARTBEAT_S = 0.3
"""The heartbeat interval. Ten heartbeats fit into that silence; with the product's values (5 s and 30 s), six do."""
HEARTBEAT = {"PORTOLAN_HEARTBEAT_S": str(HEARTBEAT_S)}


def variables_of(times: Times) -> dict[str, str]:
    """The variable that sets these times for a coordinator."""
    default = Times()
    changed = [field.name for field in fields(times) if getattr(times, field.name) != getattr(default, field.name)]
    return {TIMES: ", ".join(f"{name}={getattr(times, name)!r}" for name in changed)} if changed else {}
