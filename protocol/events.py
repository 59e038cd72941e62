"""The events of a runner: ``GET /v1/events``, newline-delimited JSON, and their acknowledgement.

``started`` and ``finished`` are numbered from 1 in each boot, without gaps. A heartbeat
takes no number of its own: ``n`` repeats the number of the event before it on the same
stream (or that from which the stream began), and nothing needs storing.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from protocol.limits import MAX_RUNNING, AttemptNumber, Count, EventNumber, LongText, Name, Seconds, Total
from protocol.model import Message
from protocol.outcomes import Outcome

HEARTBEAT_S = 5.0
"""The pause between heartbeats of a runner that sends nothing else; the contract allows up to 10."""


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
    """On the runner's clock, by the rule of ``timeout_s``."""
    waited_s: Seconds = 0.0
    """For the timing lock, since the case began: what ``elapsed_s`` leaves out, and all that it leaves out."""


class Heartbeat(Message):
    type: Literal["heartbeat"] = "heartbeat"
    n: Total
    queued: Count
    """How many jobs have not begun: those that wait, and one whose process is being made."""
    running: list[Running] = Field(default_factory=list, max_length=MAX_RUNNING)


Event = Annotated[Started | Finished | Heartbeat, Field(discriminator="type")]
EVENT: TypeAdapter[Started | Finished | Heartbeat] = TypeAdapter(Event)


class Acknowledgement(Message):
    """Everything up to ``n`` is stored: the runner may forget it, and the job ids with it."""

    boot_id: Name
    n: Total


class BootMismatch(Message):
    """Body of a 409: the runner is not the boot that the caller speaks of."""

    boot_id: Name
    detail: LongText
