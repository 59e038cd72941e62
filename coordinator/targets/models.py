"""A target: framework@version/device on one hardware, with one environment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field, computed_field

from coordinator.targets.selectors import target_name
from protocol.enums import is_lowered

NOT_RUN = "lowered, not run"
"""The words that are shown next to the name of a target that only lowers programs."""


class Target(BaseModel):
    """A target of a campaign, with the suite that charts it."""

    model_config = ConfigDict(frozen=True)

    id: int
    framework: str
    version: str
    device: str
    device_class: str
    hardware: str
    environment: str
    simulated: bool
    notes: tuple[str, ...]
    suite: str
    suite_revision: str
    drawn_cases: int = Field(default=0, exclude=True)
    """For a target on the host, the number of generated cases in its suite."""
    wrong_on_host: int = Field(default=0, exclude=True)
    """The number of these generated cases that the host failed when they were generated."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def target(self) -> str:
        """The target's name for people and selectors."""
        return target_name(self)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences that must be shown with any result of the target."""
        return target_sentences(
            self.device,
            self.device_class,
            simulated=self.simulated,
            notes=self.notes,
            drawn_cases=self.drawn_cases,
            wrong_on_host=self.wrong_on_host,
        )

    @property
    def is_lowered(self) -> bool:
        """Whether the target only lowers programs and does not run them. It then has no verdicts and no latencies."""
        return is_lowered(self.device)

    @property
    def is_compared(self) -> bool:
        return not self.simulated and not self.is_lowered


def target_sentences(
    device: str,
    device_class: str,
    *,
    simulated: bool,
    notes: Sequence[str],
    drawn_cases: int = 0,
    wrong_on_host: int = 0,
) -> tuple[str, ...]:
    """The sentences that must be shown with any result of a target: the runner's sentences, followed by Portolan's.

    For a target on the host, the numbers are about the cases that its suite generated from the host's results.
    """
    sentences = list(notes)
    if drawn_cases:
        sentences.append(_by_construction(drawn_cases, wrong_on_host))
    if device == "xla" and device_class != "tpu":
        where = "the host CPU" if device_class == "cpu" else f"a device of class {device_class}"
        sentences.append(f"XLA on {where}, not a TPU")
    if is_lowered(device):
        sentences.append("no case passed or failed, and its results are not compared")
    if simulated:
        sentences.append("simulated: its results are not compared")
    return tuple(dict.fromkeys(sentences))


def _by_construction(drawn_cases: int, wrong_on_host: int) -> str:
    """The note that a rate on the host shows only how cases were chosen."""
    if not wrong_on_host:
        return f"100 % by construction: all {drawn_cases:,} drawn cases are in the suite because the CPU was right"
    right = drawn_cases - wrong_on_host
    return f"by construction: {right:,} of {drawn_cases:,} drawn cases are in the suite because the CPU was right"


def labels(targets: Sequence[Target]) -> dict[int, str]:
    """The label of each target: its name. If two targets have the same name, the labels include hardware and
    environment."""
    names = Counter(target.target for target in targets)
    machines = Counter((target.target, target.hardware) for target in targets)
    label_by_id = {}
    for target in targets:
        hardware = f" on {target.hardware}" if names[target.target] > 1 else ""
        environment = f" in {target.environment}" if machines[target.target, target.hardware] > 1 else ""
        label_by_id[target.id] = f"{target.target}{hardware}{environment}"
    return label_by_id


def notes(targets: Iterable[Target]) -> list[str]:
    """The sentences that must be shown with any result of these targets. Each sentence names its target, and no
    sentence is repeated."""
    return list(dict.fromkeys(f"{target.target}: {sentence}" for target in targets for sentence in target.sentences))
