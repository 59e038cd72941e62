"""The catalogue as it goes over the wire: suites with their functions, and how much of a release is charted."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class CatalogueFunction(BaseModel):
    function: str
    cases: int
    host_only: str | None
    """Why it never touches a device, or null."""


class CatalogueSuite(BaseModel):
    suite: str
    framework: str
    revision: str
    targets: list[str]
    functions: list[CatalogueFunction]


class Catalogue(BaseModel):
    suites: list[CatalogueSuite]


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

    What never touches a device is in no share, nor are the classes of arrays, which programs name in annotations.
    """

    model_config = ConfigDict(frozen=True)

    suite: str
    release: str
    """Whose surface it is set against."""
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
    """Uses whose receiver's class was guessed: apart, in no other figure."""
    host_only: Share
    """Entries that are declared never to touch a device."""
    host_only_uses: int
    array_uses: int
    """Certain uses of the classes of arrays themselves."""
    removed: tuple[str, ...]
    """Functions charted that the release does not have."""
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
    """By all these suites, each function once."""
    uncharted: list[UsedFunction]
    """The most used of what none of them charts."""


class CoverageList(BaseModel):
    releases: list[ReleaseCoverage]


class CampaignCoverage(BaseModel):
    """How much of each release a campaign has charted: functions with a case that counts, or was lowered."""

    campaign_id: int
    releases: list[Coverage]
