"""Coverage: the tested share of a release, by names and by use, compared with figures counted by hand."""

from __future__ import annotations

import pytest

from coordinator.catalogue.coverage import coverage, most_used_uncharted, sentence, share_text, suites_coverage
from coordinator.catalogue.models import Share, UsedFunction
from coordinator.catalogue.releases import Release, make_release, nearest
from coordinator.catalogue.surfaces import is_array_class
from coordinator.catalogue.usage.counts import FileCounts, FrameworkCounts, UsageCounts, UseCount
from protocol.host_only import HostOnly
from tests.unit.coordinator.catalogue.test_surfaces import entry, surface

SMALL = surface(
    entry("torch.add", aliases=["torch.math.add"]),
    entry("torch.no_grad", kind="class"),
    entry("torch.mul"),
    entry("torch.Tensor", kind="class"),
    entry("torch.Module", kind="class"),
    entry("torch.Module.train", kind="method"),
    entry("torch.Linear", kind="class", bases=["torch.Module"], aliases=["torch.nn.Linear"]),
    entry("torch.Fault", kind="exception"),
)
NAMES = {
    "torch.add": UseCount(resolved=3),
    "torch.math.add": UseCount(resolved=6, guessed=2),
    "torch.mul": UseCount(resolved=2),
    "torch.nn.Linear.train": UseCount(typed=1, guessed=4),
    "torch.no_grad": UseCount(resolved=9),
    "torch.Tensor": UseCount(resolved=100),
    "torch.float32": UseCount(resolved=7),
}
CHARTED = ["torch.add", "torch.no_grad", "torch.gone"]


def counts(names: dict[str, UseCount], root: str = "torch") -> UsageCounts:
    files = FileCounts(seen=1, duplicates=0, without_framework=0, counted=1, refused={}, examples={})
    framework = FrameworkCounts(files=1, names=names)
    return UsageCounts(format=1, corpus="c", packages={}, files=files, star_imports=0, frameworks={root: framework})


@pytest.fixture(scope="module")
def release() -> Release:
    return make_release(SMALL, counts(NAMES), HostOnly({"torch.no_*": "it sets a mode"}))


def test_functions_members_and_uses_are_counted_and_the_host_kept_apart(release: Release) -> None:
    paper_coverage = coverage("paper", CHARTED, release)
    assert (paper_coverage.functions, paper_coverage.members) == (Share(charted=1, of=4), Share(charted=0, of=1))
    assert (paper_coverage.host_only, paper_coverage.host_only_uses) == (Share(charted=1, of=1), 9)
    assert paper_coverage.array_uses == 100
    assert (paper_coverage.removed, paper_coverage.unresolved_uses) == (("torch.gone",), 7)


def test_uses_by_another_name_of_what_ran_are_twins(release: Release) -> None:
    paper_coverage = coverage("paper", CHARTED, release)
    assert paper_coverage.uses == Share(charted=3, of=3 + 6 + 2 + 1, twins=6)
    assert paper_coverage.guessed == Share(charted=0, of=2 + 4, twins=2)
    both = coverage("paper", ["torch.add", "torch.math.add"], release)
    assert both.uses == Share(charted=9, of=12, twins=0)
    assert both.functions == Share(charted=1, of=4)


def test_names_that_a_module_holds_once_more_are_no_twins() -> None:
    cast = make_release(
        surface(entry("tf.cast"), framework="tensorflow"),
        counts({"tf.cast": UseCount(resolved=2), "tf.compat.v2.cast": UseCount(resolved=5)}, "tf"),
        HostOnly({}),
    )
    for name in ("tf.cast", "tf.compat.v2.cast"):
        assert coverage("paper", [name], cast).uses == Share(charted=7, of=7)


def test_without_counts_there_are_no_uses() -> None:
    paper_coverage = coverage("paper", CHARTED, make_release(SMALL, None, HostOnly({})))
    assert (paper_coverage.functions, paper_coverage.uses, paper_coverage.guessed) == (
        Share(charted=2, of=5),
        None,
        None,
    )
    assert sentence(paper_coverage).endswith("0/1 (0.0 %) members of classes.")


def test_suites_stand_alone_and_together_and_the_runners_own_check_is_none(release: Release) -> None:
    suites = {
        ("paper", "torch"): ["torch.add"],
        ("library", "torch"): ["torch.add", "torch.mul"],
        ("paper", "jax"): ["jax.numpy.add"],
        ("conformance", "torch"): ["torch.Linear"],
    }
    coverage_of_suites = suites_coverage(suites, release)
    assert coverage_of_suites is not None
    assert [row.suite for row in coverage_of_suites.suites] == ["library", "paper"]
    assert coverage_of_suites.together.functions == Share(charted=2, of=4)
    assert coverage_of_suites.uncharted == [UsedFunction(function="torch.Module.train", uses=1)]
    assert suites_coverage({("paper", "jax"): ["jax.numpy.add"]}, release) is None


def test_what_is_used_most_and_not_charted_comes_first(release: Release) -> None:
    names = [row.function for row in most_used_uncharted([], release)]
    assert names == ["torch.add", "torch.mul", "torch.Module.train"]


@pytest.mark.parametrize(
    ("version", "surface_name"),
    [("2.9.0", "torch@2.9.0"), ("2.9.0+cpu", "torch@2.9.0"), ("2.13.0", "torch@2.9.0"), ("1.12.0", "torch@2.9.0"),
     ("2.15.0", "torch@2.15.0"), ("3.0", "torch@2.15.0")],
)  # fmt: skip
def test_a_version_is_set_beside_the_nearest_surface(version: str, surface_name: str) -> None:
    assert nearest("torch", version) == surface_name
    assert nearest("hazards", version) is None


def test_classes_of_arrays_are_told_from_others() -> None:
    for name in ("torch.Tensor", "torch.LongTensor", "torch.cuda.sparse.FloatTensor", "tf.Tensor", "jax.Array"):
        assert is_array_class(name), name
    for name in ("torch.masked.MaskedTensor", "tf.RaggedTensor", "torch.tensor", "jax.Array.T"):
        assert not is_array_class(name), name


def test_a_share_of_nothing_is_none() -> None:
    assert share_text(Share(charted=0, of=0)) == share_text(None) == "–"
    assert share_text(Share(charted=954, of=4480)) == "954/4,480 (21.3 %)"
