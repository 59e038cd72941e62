"""The description of a runner: ``GET /v1/runner``."""

from typing import Annotated

from pydantic import Field

from protocol.enums import DeviceClass
from protocol.limits import MAX_INTEGER, MAX_LINE, MAX_LINES, Count, Line, Lines, Name, TargetName
from protocol.model import Message

CASE_PLACE = "{case}"
RUN_PLACE = "{run}"
REPEAT = r"^[^\x00-\x1f\x7f]*\{case\}[^\x00-\x1f\x7f]*$"
"""The form of the command template that repeats one case. It is one line and contains ``{case}``."""


class Fingerprint(Message):
    """The machine and installation that made a measurement, described so that two machines or two installations can be
    told apart.

    ``environment`` is a hash over the installed distributions and belongs to the target. ``image`` is the digest of the
    container image, which also covers everything else.
    """

    hardware: Name
    """The model name that the device reports (``NVIDIA T4``, ``AMD EPYC 7B13``)."""
    environment: Name
    image: Line | None = None
    """The digest of the container image. It is not visible inside of the container, so the program that starts the
    container passes it in."""
    host: Line
    system: Line
    """Operating system, kernel and machine architecture."""
    python: Line | None = None
    """The version of Python; null if the runner is written in another language."""
    driver: Line | None = None
    threads: Count | None = None
    """The number of threads that the framework uses for one operation on the host."""
    repeat: Annotated[str, Field(max_length=MAX_LINE, pattern=REPEAT)] | None = None
    """A shell command that repeats one case on the machine where the runner is installed. ``{case}`` and ``{run}``
    stand for the case's id and the run. The part in brackets is omitted for run 1 (``node main.js run {case}[ --run
    {run}]``). Null if the runner has no such command."""
    libraries: dict[Line, Line] = Field(default_factory=dict, max_length=MAX_LINES)
    """Versions of the packages that affect results (torch, torch_xla, numpy, …)."""
    notes: Lines = Field(default_factory=list)
    """Sentences that must be shown with every result (``XLA on the host CPU, not a TPU``)."""


class RunnerInfo(Message):
    """The response to ``GET /v1/runner``. A new ``boot_id`` means that all earlier attempts are lost."""

    boot_id: Name
    protocol: Count
    framework: TargetName
    version: TargetName
    device: TargetName
    device_class: DeviceClass
    device_count: Count
    slots: int = Field(default=1, ge=1, le=MAX_INTEGER)
    queue_limit: int = Field(ge=1, le=MAX_INTEGER)
    simulated: bool = False
    """Whether the accelerator is simulated. Simulated targets are labeled, and excluded from comparisons."""
    fingerprint: Fingerprint
