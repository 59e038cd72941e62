"""The events of a runner (``GET /v1/events``, newline-delimited JSON) and their acknowledgement.

``started`` and ``finished`` are numbered from 1 in each boot, without gaps. A heartbeat has no number of its own. Its
``n`` is the number of the last event on the stream or, before the first event, the number after which the stream began.
Heartbeats are not stored.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from protocol.limits import MAX_RUNNING, AttemptNumber, Count, EventNumber, Name, Seconds, Total
from protocol.model import Message
from protocol.outcomes import Outcome

HEARTBEAT_S = 5.0
"""The default interval of heartbeats if nothing else is sent. The contract allows up to 10 s."""


class Started(Message):
    type: Literal["started"] = "started"
    n: EventNumber
    id: Name
    attempt: AttemptNumber


class Finished(Message):
    type: Literal["finished"] = "finished"
    n: EventNumber
    id: Name
    attempt: AttemptNumber
    outcome: Outcome


class Running(Message):
    id: Name
    attempt: AttemptNumber
    elapsed_s: Seconds
    """The seconds of ``timeout_s`` that the case has used, by the runner's clock."""
    waited_s: Seconds = 0.0
    """The seconds that the case has waited for the timing lock. ``elapsed_s`` does not include these seconds."""


class Heartbeat(Message):
    type: Literal["heartbeat"] = "heartbeat"
    n: Total
    queued: Count
    """The number of jobs that have not started, including those whose process is being created."""
    running: list[Running] = Field(default_factory=list, max_length=MAX_RUNNING)


Event = Annotated[Started | Finished | Heartbeat, Field(discriminator="type")]
EVENT: TypeAdapter[Started | Finished | Heartbeat] = TypeAdapter(Event)


class Acknowledgement(Message):
    """The coordinator's message that it has stored all events up to number ``n``. The runner may discard these events
    and their job ids."""

    boot_id: Name
    n: Total
