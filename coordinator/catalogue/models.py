"""The catalogue as it goes over the wire: suites with their functions, how much of a release is charted, samples."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from coordinator.http.storable import LARGEST_BIGINT, LONGEST_NAME, Text

MOST_DRAWN = 1000
"""Functions of a sample, as many as a campaign may name."""


class CatalogueFunction(BaseModel):
    function: str
    cases: int
    host_only: str | None
    """Why it never touches a device, or null."""


class SuiteCase(BaseModel):
    """A case of a suite, as its runner offers it."""

    case: str
    function: str
    host_only: str | None
    judged_by: str | None
    """The reference that its expected values are of; null if the suite does not say."""
    input_kinds: str | None
    options: dict[str, Any] | None
    """How it calls its function; null if its runner does not say."""


class SuiteCases(BaseModel):
    """Some cases of a suite under one revision, in its order."""

    suite_id: int
    suite: str
    framework: str
    revision: str
    cases: list[SuiteCase]
    next: int | None
    """Pass as ``offset`` to read on; null at the end."""


class SuiteOnTargets(BaseModel):
    suite_id: int
    suite: str
    framework: str
    revision: str
    targets: list[str]
    functions: list[CatalogueFunction]


class SuiteList(BaseModel):
    suites: list[SuiteOnTargets]


class Share(BaseModel):
    """Some of all, in numbers."""

    model_config = ConfigDict(frozen=True)

    charted: int
    of: int
    twins: int = 0
    """Uses of charted objects under other names, which were not run: in `of`, and not in `charted`."""

    @property
    def ratio(self) -> float | None:
        return self.charted / self.of if self.of else None


class Coverage(BaseModel):
    """The part of one release that a suite or a campaign charts.

    Names that never touch a device are in no share. Nor are the classes of arrays, which programs name in annotations.
    """

    model_config = ConfigDict(frozen=True)

    suite: str
    release: str
    """The release with whose surface it is compared."""
    instead_of: str | None = None
    """The release that was charted, if its own surface does not come with Portolan; `release` is the nearest."""
    corpus: str | None
    """The programs whose uses are counted; null without counts."""
    functions: Share
    """Functions and classes of modules."""
    members: Share
    """Methods and properties of classes."""
    uses: Share | None
    """Certain uses, of functions and members; null without counts."""
    guessed: Share | None
    """Uses whose receiver's class was guessed. They are counted separately and in no other figure."""
    host_only: Share
    """Entries that are declared never to touch a device."""
    host_only_uses: int
    array_uses: int
    """Certain uses of the classes of arrays themselves."""
    removed: tuple[str, ...]
    """Charted functions that the release does not have."""
    unresolved_uses: int
    """Certain uses of names that the release does not have, or that name a module or a value."""


class UsedFunction(BaseModel):
    """A function or member of a release, and how often it is certainly used."""

    model_config = ConfigDict(frozen=True)

    function: str
    uses: int


class ReleaseCoverage(BaseModel):
    """One release, and how much of it each suite that runners serve charts."""

    release: str
    framework: str
    suites: list[Coverage]
    together: Coverage
    """The coverage by all these suites together; each function counts once."""
    uncharted: list[UsedFunction]
    """The most used functions that none of them charts."""


class CoverageList(BaseModel):
    releases: list[ReleaseCoverage]


class CampaignCoverage(BaseModel):
    """How much of each release a campaign has charted: functions with a case that counts, or was lowered."""

    campaign_id: int
    releases: list[Coverage]


Word = Annotated[Text, Field(min_length=1, max_length=LONGEST_NAME)]
Count = Annotated[int, Field(ge=0, le=LARGEST_BIGINT)]


class DrawnFunction(BaseModel):
    """A function of a sample, and how it was drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    function: Word
    aliases: tuple[Word, ...] = Field(default=(), max_length=100)
    """The object's other public names."""
    uses: Count
    stratum: Word
    """``top20`` for 20 at the top; else ``decile10`` (rarest) to ``decile100`` (most used), the study's words."""
    instead_of: Word | None = None
    """The function that was drawn first and cannot be charted."""
    because: Word | None = None


class FunctionSample(BaseModel):
    """Functions drawn from a release, and how: the same surface, counts, numbers and seed draw the same functions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    name: Annotated[Text, Field(min_length=1, max_length=100)]
    surface: Annotated[Text, Field(pattern=r"^\w[\w-]*@[\w.+-]+$", max_length=100)]
    """The release: ``torch@2.9.0``."""
    corpus: Word
    """The programs whose uses were counted."""
    seed: Annotated[int, Field(ge=-LARGEST_BIGINT, le=LARGEST_BIGINT)]
    top: Count
    per_decile: Count
    members: bool
    """Members of classes were drawn from, too."""
    guessed: bool
    """Guessed uses counted, too."""
    population: Count
    """How many functions it was drawn from."""
    drawn: tuple[DrawnFunction, ...] = Field(min_length=1, max_length=MOST_DRAWN)
    short: tuple[Word, ...] = Field(default=(), max_length=20)
    """Strata with fewer functions than were to be drawn."""

    @property
    def framework(self) -> str:
        return self.surface.partition("@")[0]


class SampledFunction(DrawnFunction):
    """A drawn function, and the name under which the campaign's suite has cases of it."""

    charted_as: str | None
    """None if the suite has none; the function is then excluded from all figures."""


class ChartedSample(FunctionSample):
    """A sample as a campaign charts it."""

    drawn: tuple[SampledFunction, ...] = Field(min_length=1, max_length=MOST_DRAWN)

    @property
    def not_charted(self) -> list[str]:
        return [row.function for row in self.drawn if row.charted_as is None]

    @property
    def functions(self) -> list[str]:
        """The names that are charted."""
        return list(dict.fromkeys(row.charted_as for row in self.drawn if row.charted_as is not None))
