"""What a runner says of itself: ``GET /v1/runner``."""

from pydantic import Field

from protocol.model import Message
from protocol.words import DeviceClass


class Fingerprint(Message):
    """Where a number comes from: enough to tell two machines or two installations apart.

    ``environment`` is a hash over the installed distributions, and part of the target; ``image``
    is the digest of the container's image, which also covers what is not a distribution.
    """

    hardware: str
    """The device's model as it names itself (``NVIDIA T4``, ``AMD EPYC 7B13``)."""
    environment: str
    image: str | None = None
    """Told to the runner by whoever starts the container: nothing inside can know it."""
    host: str
    system: str
    """Operating system, kernel and machine architecture."""
    python: str | None = None
    """Of the interpreter; null where the runner is written in another language."""
    driver: str | None = None
    threads: int | None = None
    """Threads the framework uses for one operation on the host."""
    libraries: dict[str, str] = Field(default_factory=dict)
    """Versions of the packages that decide a result (torch, torch_xla, numpy, …)."""
    notes: list[str] = Field(default_factory=list)
    """Sentences that must stand beside any figure (``XLA on the host CPU, not a TPU``)."""


class RunnerInfo(Message):
    """The answer to ``GET /v1/runner``. A new ``boot_id`` means all earlier attempts are lost."""

    boot_id: str
    protocol: int
    framework: str
    version: str
    device: str
    device_class: DeviceClass
    device_count: int = Field(ge=0)
    slots: int = Field(default=1, ge=1)
    queue_limit: int = Field(ge=1)
    simulated: bool = False
    """A toy accelerator: charted, labelled, and left out of comparisons."""
    fingerprint: Fingerprint
