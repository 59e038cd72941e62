"""The bounds of what one coordinator does for others at a time, and of what one request may bring. Pure.

Limits of single fields stand at the fields, those of messages in ``protocol/limits.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from coordinator.errors import RequestError, SettingError, TooManyError
from coordinator.variables import LIMITS

LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Bounds:
    """Every bound, with its default. ``PORTOLAN_LIMITS`` changes them by name."""

    body_bytes: int = 1 << 20
    """The largest body of a request. Bundles have their own limit."""
    body_seconds: int = 30
    """For the whole body, however its bytes come."""
    stranger_body_bytes: int = 1 << 16
    """The largest body of a request without a token (sign in, enrol)."""
    stranger_body_seconds: int = 5
    bundle_seconds: int = 600
    recording_bytes: int = 16 << 20
    """The largest recording that an operator may send to a runner."""
    recording_members: int = 1_000_000
    json_depth: int = 32
    json_members: int = 20_000
    """The most members of a body: all values of its lists and objects, or the fields of a form."""
    header_seconds: int = 10
    """From a connection, or from the first byte of its next request, to the end of the headers."""
    stalled_seconds: int = 30
    """After this a client that takes nothing of its answer is gone."""
    connections: int = 1000
    """Past it the connection that has been idle for the longest makes room, or the oldest unfinished request."""
    runner_connections: int = 250
    """The most of these at the port for runners."""
    address_connections: int = 500
    """The most of these from one address at one port."""
    exports: int = 2
    """Made at a time: files of outcomes, tables, figures and reports."""
    exports_waiting: int = 30
    exports_each: int = 16
    """The most exports of one caller, waiting ones included; all callers without a token count as one."""
    export_seconds: int = 600
    assessments: int = 1
    """Scripts that are assessed at a time."""
    assessments_waiting: int = 8
    assessments_each: int = 2
    """The most assessments of one caller, waiting ones included."""
    streams: int = 500
    """Event streams that are open at a time."""
    streams_each: int = 250
    campaign_jobs: int = 1_000_000
    user_jobs: int = 2_000_000
    """Jobs of one submitter that have no outcome yet."""

    @classmethod
    def parse(cls, text: str) -> Bounds:
        """``exports=4, streams=100``. Raises ``SettingError``."""
        names = [field.name for field in fields(cls)]
        limits: dict[str, int] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, value = (word.strip() for word in part.partition("="))
            if name not in names:
                raise SettingError(f"{LIMITS}: there is no limit '{name}'; the limits are: {', '.join(names)}")
            if not (value.isascii() and value.isdecimal() and 1 <= int(value[:20]) <= LARGEST):
                raise SettingError(f"{LIMITS}: {name} is {value!r}: give a whole number from 1 to {LARGEST:,}")
            limits[name] = int(value)
        return replace(cls(), **limits)


def require_campaign_jobs(jobs: int, bounds: Bounds) -> None:
    """Raises ``RequestError`` for a plan that is too large."""
    if jobs > bounds.campaign_jobs:
        raise RequestError(
            f"this campaign would have {jobs:,} jobs, but the limit is {bounds.campaign_jobs:,}: "
            "choose fewer functions, targets or runs"
        )


def require_user_jobs(waiting: int, jobs: int, user: str | None, bounds: Bounds) -> None:
    """Raises ``TooManyError`` if the submitter's unfinished jobs would become too many."""
    if waiting + jobs > bounds.user_jobs:
        whose = f"{user} has" if user else "there are"
        raise TooManyError(
            f"{whose} {waiting:,} jobs without an outcome, and with these {jobs:,} there would be more than "
            f"{bounds.user_jobs:,}: wait for some, or cancel a campaign"
        )
