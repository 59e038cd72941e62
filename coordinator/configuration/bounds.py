"""Limits on the work that one coordinator does for clients at the same time, and on the content of one request.

Limits of single fields are defined at the fields. Limits of messages are in ``protocol/limits.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from coordinator.configuration.variables import LIMITS
from coordinator.errors import RequestError, SettingError, TooManyError

LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Bounds:
    """Limits on requests and work, with their defaults. ``PORTOLAN_LIMITS`` changes single limits by name."""

    body_bytes: int = 1 << 20
    """Size of the body of a request in bytes, except bundles and recordings. Beyond it: 413."""
    body_seconds: int = 30
    """Time for the body of a request to arrive, except a bundle. Beyond it: 408."""
    stranger_body_bytes: int = 1 << 16
    """Size of the body of a request without a token (to sign in or enroll), in bytes. Beyond it: 413."""
    stranger_body_seconds: int = 5
    """Time for the body of a request without a token to arrive. Beyond it: 408."""
    bundle_seconds: int = 600
    """Time for a bundle to arrive. Beyond it: 408."""
    recording_bytes: int = 16 << 20
    """Size in bytes of a recording that an operator sends to a runner. Beyond it: 413."""
    recording_members: int = 1_000_000
    """Number of values in all lists and objects of a recording. Beyond it: 422."""
    json_depth: int = 32
    """Depth to which lists and objects in a body are nested. Beyond it: 422."""
    json_members: int = 20_000
    """Number of values in all lists and objects of a body, or number of fields of a form. Beyond it: 422."""
    header_seconds: int = 10
    """Time for the headers of a request to arrive. Beyond it: the connection is closed. Headers of more than 64 KiB
    are answered with 400."""
    stalled_seconds: int = 30
    """Time for which a client may read nothing of its answer. Beyond it: the connection is closed."""
    connections: int = 1000
    """Open connections of clients. Beyond it: the coordinator closes the connection that was idle longest. If no
    connection is idle, the oldest connection with an incomplete request is closed. If every request is complete, the
    new connection gets 503."""
    runner_connections: int = 250
    """Connections at the port for runners. Beyond it: as for `connections`, among the connections at this port."""
    address_connections: int = 500
    """Connections from one address at one port. Beyond it: as for `connections`, among the connections of this
    address."""
    exports: int = 2
    """Files of outcomes, tables, figures and reports that the coordinator creates at the same time. Beyond it: the
    request waits up to 60 s."""
    exports_waiting: int = 30
    """Requests for files that wait while the coordinator creates other files. At most `exports` + `exports_waiting`
    finished files are sent at the same time. Beyond it: 429."""
    exports_each: int = 16
    """Requests for files that one caller has running or waiting. All callers without a token count as one caller.
    Beyond it: 429."""
    export_seconds: int = 600
    """Time to write a parquet file. Beyond it: 500."""
    assessments: int = 1
    """Scripts that the coordinator assesses at the same time. Beyond it: the request waits up to 60 s."""
    assessments_waiting: int = 8
    """Scripts that wait to be assessed. Beyond it: 429."""
    assessments_each: int = 2
    """Running and waiting assessments of one caller. Beyond it: 429."""
    streams: int = 500
    """Open event streams. Beyond it: 429."""
    streams_each: int = 250
    """Open event streams of one caller. Beyond it: 429."""
    campaign_jobs: int = 1_000_000
    """Jobs of one campaign. Beyond it: 422."""
    user_jobs: int = 2_000_000
    """Unfinished jobs of one submitter. Without access control all submitters count as one submitter. Beyond it:
    429."""

    @classmethod
    def parse(cls, text: str) -> Bounds:
        """Parse a text such as ``exports=4, streams=100``. Raises ``SettingError``."""
        names = [field.name for field in fields(cls)]
        limits: dict[str, int] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, value = (word.strip() for word in part.partition("="))
            if name not in names:
                raise SettingError(f"{LIMITS}: there is no limit '{name}'; choose one of: {', '.join(names)}")
            if not (value.isascii() and value.isdecimal() and 1 <= int(value[:20]) <= LARGEST):
                raise SettingError(f"{LIMITS}: {name} is {value!r}: give a whole number from 1 to {LARGEST:,}")
            limits[name] = int(value)
        return replace(cls(), **limits)


def require_campaign_jobs(jobs: int, bounds: Bounds) -> None:
    """Raise ``RequestError`` for a plan with too many jobs."""
    if jobs > bounds.campaign_jobs:
        raise RequestError(
            f"this campaign would have {jobs:,} jobs, but the limit is {bounds.campaign_jobs:,}: "
            "choose fewer functions, targets or runs"
        )


def require_user_jobs(waiting: int, jobs: int, user: str | None, bounds: Bounds) -> None:
    """Raise ``TooManyError`` if the submitter would have too many unfinished jobs."""
    if waiting + jobs > bounds.user_jobs:
        whose = f"{user} has" if user else "there are"
        raise TooManyError(
            f"{whose} {waiting:,} jobs without an outcome, and with these {jobs:,} there would be more than "
            f"{bounds.user_jobs:,}: wait for some, or cancel a campaign"
        )
