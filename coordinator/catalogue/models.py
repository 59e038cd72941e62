"""The REST models of the catalogue: suites with their functions, coverage of releases, samples."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from coordinator.http.storable import LARGEST_BIGINT, LONGEST_NAME, Text

MOST_DRAWN = 1000
"""The maximum number of functions in a sample. A campaign can name the same number of functions."""


class CatalogueFunction(BaseModel):
    function: str
    cases: int
    host_only: str | None
    """The reason why the function never uses a device; null if the function can use a device."""


class SuiteCase(BaseModel):
    """A case of a suite, as its runner offers it."""

    case: str
    function: str
    host_only: str | None
    judged_by: str | None
    """The reference from which the expected values were computed; null if the suite does not name one."""
    input_kinds: str | None
    options: dict[str, Any] | None
    """The options with which the case calls its function; null if its runner does not report them."""


class SuiteCases(BaseModel):
    """Some cases of one revision of a suite, in the suite's order."""

    suite_id: int
    suite: str
    framework: str
    revision: str
    cases: list[SuiteCase]
    next: int | None
    """Pass this as ``offset`` to get the next page; null on the last page."""


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
    """A share of functions or uses: the number that is charted, and the number of all."""

    model_config = ConfigDict(frozen=True)

    charted: int
    of: int
    twins: int = 0
    """The number of uses of charted objects under other names. These names were not run, so `charted` does not include
    the uses, but `of` does."""

    @property
    def ratio(self) -> float | None:
        return self.charted / self.of if self.of else None


class Coverage(BaseModel):
    """The coverage of one release by a suite or a campaign. The shares exclude names that never use a device, and the
    classes of arrays, because programs mostly name these classes in annotations."""

    model_config = ConfigDict(frozen=True)

    suite: str
    release: str
    """The release that the charted functions are compared with."""
    instead_of: str | None = None
    """The charted release, if Portolan has no surface of it; `release` is then the nearest release that has one.
    Otherwise null."""
    corpus: str | None
    """The programs in which uses were counted; null if there are no counts."""
    functions: Share
    """Functions and classes in modules."""
    members: Share
    """Methods and properties of classes."""
    uses: Share | None
    """Certain uses of functions and members; null if there are no counts."""
    guessed: Share | None
    """Uses for which the class of the object was guessed. No other number includes these uses."""
    host_only: Share
    """Functions and members that are declared never to use a device."""
    host_only_uses: int
    array_uses: int
    """Certain uses of the array classes themselves."""
    removed: tuple[str, ...]
    """Charted functions that the release does not have."""
    unresolved_uses: int
    """Certain uses of names that the release does not have, and of names of modules or values."""


class UsedFunction(BaseModel):
    """A function of a release, or a member of one of its classes, and the number of uses that surely mean it."""

    model_config = ConfigDict(frozen=True)

    function: str
    uses: int


class ReleaseCoverage(BaseModel):
    """One release, with its coverage by each suite that runners serve."""

    release: str
    framework: str
    suites: list[Coverage]
    together: Coverage
    """The coverage by all suites together. A function that several suites chart is counted once."""
    uncharted: list[UsedFunction]
    """The most used functions that no suite charts."""


class CoverageList(BaseModel):
    releases: list[ReleaseCoverage]


class CampaignCoverage(BaseModel):
    """The coverage of each release by a campaign. A function is charted if at least one of its cases counts or was
    lowered."""

    campaign_id: int
    releases: list[Coverage]


Word = Annotated[Text, Field(min_length=1, max_length=LONGEST_NAME)]
Count = Annotated[int, Field(ge=0, le=LARGEST_BIGINT)]


class DrawnFunction(BaseModel):
    """A function of a sample, and the group (stratum) from which it was drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    function: Word
    aliases: tuple[Word, ...] = Field(default=(), max_length=100)
    """The object's other public names."""
    uses: Count
    stratum: Word
    """The group from which the function was drawn: ``top20`` (the 20 most used functions), or a decile by use from
    ``decile10`` (rarest) to ``decile100`` (most used)."""
    instead_of: Word | None = None
    """The function that was drawn first but could not be charted, so that ``function`` replaced it; null if
    ``function`` was drawn first."""
    because: Word | None = None


class FunctionSample(BaseModel):
    """A random sample of a release's functions. The same surface, counts of use, sample sizes and seed give the same
    sample."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    name: Annotated[Text, Field(min_length=1, max_length=100)]
    surface: Annotated[Text, Field(pattern=r"^\w[\w-]*@[\w.+-]+$", max_length=100)]
    """The release, such as ``torch@2.9.0``."""
    corpus: Word
    """The programs in which uses were counted."""
    seed: Annotated[int, Field(ge=-LARGEST_BIGINT, le=LARGEST_BIGINT)]
    top: Count
    per_decile: Count
    members: bool
    """Whether members of classes could be drawn."""
    guessed: bool
    """Whether guessed uses were counted."""
    population: Count
    """The number of functions from which the sample was drawn."""
    drawn: tuple[DrawnFunction, ...] = Field(min_length=1, max_length=MOST_DRAWN)
    short: tuple[Word, ...] = Field(default=(), max_length=20)
    """The groups with fewer functions than the sample should have from each group."""

    @property
    def framework(self) -> str:
        return self.surface.partition("@")[0]


class SampledFunction(DrawnFunction):
    """A drawn function, with the name under which the campaign's suite has cases for it."""

    charted_as: str | None
    """The name under which the suite has cases for the function. None if the suite has no cases for the function; it is
    then excluded from all results."""


class ChartedSample(FunctionSample):
    """A sample, with the name under which a campaign charts each function."""

    drawn: tuple[SampledFunction, ...] = Field(min_length=1, max_length=MOST_DRAWN)

    @property
    def not_charted(self) -> list[str]:
        return [row.function for row in self.drawn if row.charted_as is None]

    @property
    def functions(self) -> list[str]:
        """The names under which the sample's functions are charted."""
        return list(dict.fromkeys(row.charted_as for row in self.drawn if row.charted_as is not None))
