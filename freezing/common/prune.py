"""Remove frozen cases that the gate no longer admits, without drawing new ones.

python -m freezing.common.prune FRAMEWORK [CASE…]
python -m freezing.common.prune FRAMEWORK --domain

Run it in the framework's environment. It tests each case of ``library`` as ``SampleGate`` tests a sample: whether a
number is outside of the function's domain, and whether another processor may return another result. It tags the
refusals that the documentation leaves to each device. From ``docs`` it removes the examples that name the CPU as their
device. Then it writes the files of cases and the lists of left-out cases. The cases named as arguments are not run and
stay: name those whose calls crash the process on this machine. With ``--domain``, it runs no case: from ``library`` it
removes only the cases with a number outside of the function's domain.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

from freezing.common import conversion, domain, per_device, processor
from freezing.common.admission import ASKS_FOR_CPU
from freezing.common.flow import asks_for_cpu
from freezing.common.kinds import mark_quick
from freezing.common.parts import LISTED, LISTED_VARIANTS, Reason, add_left_out
from freezing.common.variants import OVERLAPPING_WRITE, TAILS, refuses_for_this
from protocol.enums import DOCUMENTED_PER_DEVICE
from runners import frameworks
from runners.isolation.harness import prepared_call
from runners.suite.cases import Case
from runners.suite.checks import Leaf, Tolerance, leaves
from runners.suite.device import Device
from runners.suite.examples import Example
from runners.suite.frozen import PACK, QUICK, VARIANTS_PACK, Pack, PackSet, PackWriter, Refusing, packs_in

SUITE = "library"
EXAMPLES = "docs"
FOLDER = Path(__file__).resolve().parents[2] / "runners"
NOT_DETERMINED = "not determined"
OTHER_REFUSAL = "the host refuses its layout of memory, and not what the call writes"
OUT_OF_MEMORY = frozenset({"MemoryError", "OutOfMemoryError", "ResourceExhaustedError"})
BY_MEMORY = "the memory of the machine decides whether the host refuses the call"
Frozen = Mapping[str, Any]
"""One case of a frozen file, as parsed JSON."""
OtherProcessors = Callable[[], Sequence[AbstractContextManager[None]]]
"""Returns context managers. Within each, the host computes as another processor may."""
Arrays = Sequence[Any]


class FrameworkRules(Protocol):
    """Rules about a call on the host that depend on the framework."""

    def reason_undetermined(self, call: Callable[[], Any]) -> str | None:
        """Return why the call's result, or its refusal, is undetermined; None if it is determined."""

    def refusing_operation(self, error: Exception) -> per_device.Refusal | None:
        """Return the operation that raised the error; None if the framework does not name it."""


class NoRules:
    """The rules of a framework without a module ``rules``: they never object."""

    def reason_undetermined(self, call: Callable[[], Any]) -> str | None:
        return None

    def refusing_operation(self, error: Exception) -> per_device.Refusal | None:
        return None


def module_of(framework: str, name: str) -> Any:
    """Import the module ``freezing.FRAMEWORK.NAME``. Return None if it does not exist."""
    path = f"freezing.{framework}.{name}"
    return import_module(path) if find_spec(path) is not None else None


def rules_of(framework: str) -> FrameworkRules:
    """Return the framework's module ``rules``, or ``NoRules`` if it has none."""
    return cast(FrameworkRules, module_of(framework, "rules") or NoRules())


class Pruner:
    """Runs frozen cases on the host to find out which the gate no longer admits, and why."""

    def __init__(
        self,
        device: Device,
        cases: Mapping[str, Case],
        packs: PackSet,
        rules: FrameworkRules,
        other_processors: OtherProcessors,
        deadly: Collection[str] = (),
    ) -> None:
        self._device = device
        self._deadly = deadly
        self._cases = cases
        self._packs = packs
        self._rules = rules
        self._other_processors = other_processors

    def reason(self, frozen_case: Frozen) -> str | None:
        """Return why the case is left out, or None if it stays."""
        if frozen_case.get("refuses") in OUT_OF_MEMORY:
            return BY_MEMORY
        if (frozen_case["kind"] != "value" and "refuses" not in frozen_case) or self._is_deadly(frozen_case):
            return None
        arrays = [self._packs.array(digest) for digest in frozen_case["arrays"]]
        references = [self._packs.array(digest) for digest in frozen_case["expected"]]
        if domain.is_outside(frozen_case["function"], frozen_case["call"], arrays, references):
            return domain.OUTSIDE
        if domain.widens_its_array(frozen_case["function"], arrays, references):
            return domain.WIDENED
        case = self._case(frozen_case)
        if reason := self._rules.reason_undetermined(self._call(case)):
            return reason
        if "refuses" in frozen_case:
            return self._reason_of_refusal(frozen_case["name"], case)
        return self._reason_of_result(frozen_case, case, arrays, references)

    def refusal(self, frozen_case: Frozen) -> per_device.Refusal | None:
        """Return the operation within the case's call that raises the error, if the framework names it."""
        if self._is_deadly(frozen_case):
            return None
        try:
            self._run(self._case(frozen_case))
        except Exception as error:
            return self._rules.refusing_operation(error)
        return None

    def _reason_of_result(
        self, frozen_case: Frozen, case: Case, arrays: Arrays, references: Sequence[Any]
    ) -> str | None:
        tolerance = Tolerance(*frozen_case["tolerance"])
        results = self._run(case)
        if conversion.are_whole(case.dtype, results) and self._has_fraction(case, results):
            return conversion.FRACTION
        if processor.share_of(tolerance, results, references) > processor.LARGEST_SHARE:
            return processor.TOO_FAR
        if TAILS in frozen_case["tags"] and any(map(processor.has_zero, arrays)):
            others = list(map(processor.with_other_zeros, arrays))
            if processor.differ(tolerance, results, self._run(dataclasses.replace(case, arguments=lambda _: others))):
                return processor.BY_A_ZERO
        for surroundings in self._other_processors():
            with surroundings:
                results = self._run(case)
            if processor.is_other(tolerance, results, references):
                return processor.ELSEWHERE
        return None

    def _is_deadly(self, frozen_case: Frozen) -> bool:
        return case_id(frozen_case) in self._deadly

    def _case(self, frozen_case: Frozen) -> Case:
        return self._cases[case_id(frozen_case)]

    def _reason_of_refusal(self, name: str, case: Case) -> str | None:
        if not name.endswith(OVERLAPPING_WRITE):
            return None
        try:
            self._run(case)
        except Exception as error:
            return None if refuses_for_this(name, str(error)) else OTHER_REFUSAL
        return OTHER_REFUSAL

    def _has_fraction(self, case: Case, results: Sequence[Leaf]) -> bool:
        floats = dataclasses.replace(
            case, dtype="float64", arguments=lambda inputs: conversion.as_floats(case.dtype, case.arguments(inputs))
        )
        try:
            return conversion.has_fraction(results, self._run(floats))
        except Exception:  # the function accepts only integers
            return False

    def _call(self, case: Case) -> Callable[[], object]:
        """Return the case's call. It raises the host's error, even if the case expects one."""
        refusing = case.prepare
        if isinstance(refusing, Refusing):
            case = dataclasses.replace(case, prepare=lambda *parts: lambda: refusing.prepare(*parts)())
        call = prepared_call(self._device, case)
        assert call is not None, f"{case.id} has nothing to call"
        return call

    def _run(self, case: Case) -> list[Leaf]:
        return leaves(self._device.to_host(self._call(case)()))


def case_id(frozen_case: Frozen) -> str:
    return f"{frozen_case['function']}/{frozen_case['name']}"


def sift(
    cases: Sequence[dict[str, Any]], reason_of: Callable[[Frozen], str | None], kind: str = NOT_DETERMINED
) -> tuple[list[Any], list[Reason]]:
    """Return the cases that stay, and the reasons for leaving out the others, all of the same kind."""
    staying: list[Any] = []
    left_out: list[Reason] = []
    for case in cases:
        reason = reason_of(case)
        if reason is None:
            staying.append(case)
        else:
            left_out.append((case["function"], case["name"], kind, reason))
    return staying, left_out


def choose_quick_anew(
    before: Sequence[Frozen], cases: Sequence[dict[str, Any]], base: Sequence[dict[str, Any]] = ()
) -> None:
    """Choose the quick cases anew for each function that had a quick case in ``before`` and lost it."""
    remaining = {(case["function"], case["name"]) for case in cases}
    losers = {
        case["function"]
        for case in before
        if QUICK in case["tags"] and (case["function"], case["name"]) not in remaining
    }
    changed_cases = [case for case in cases if case["function"] in losers]
    for case in changed_cases:
        case["tags"] = [tag for tag in case["tags"] if tag != QUICK]
    mark_quick(changed_cases, base)


def mark_per_device(
    cases: Sequence[dict[str, Any]],
    docstring: per_device.Docstring,
    refusal_of: Callable[[Frozen], per_device.Refusal | None] = lambda case: None,
) -> int:
    """Tag the refusals that documentation leaves to each device. Return how many cases have the tag now."""
    for case in cases:
        if "refuses" in case:
            others = [tag for tag in case["tags"] if tag != DOCUMENTED_PER_DEVICE]
            case["tags"] = [*others, *per_device.tags(case["function"], case["name"], docstring, refusal_of(case))]
    return sum(DOCUMENTED_PER_DEVICE in case["tags"] for case in cases)


def prune(framework: str, deadly: Collection[str]) -> None:
    """Remove the cases of ``library`` that the gate no longer admits, and add them to the lists of left-out cases."""
    backend = frameworks.load(framework)
    os.environ.update(backend.devices["cpu"].variables)
    cases = {case.id: case for case in backend.load_suites()[SUITE].cases}
    packs = packs_in(FOLDER / framework / "suites" / SUITE)
    device = backend.load_device("cpu")
    pruner = Pruner(device, cases, packs, rules_of(framework), other_processors_of(framework), deadly)
    docstring = per_device.docstring_of(device.lookup)
    base: list[dict[str, Any]] = []

    def tag(pack: Pack, name: str, staying: list[dict[str, Any]]) -> None:
        choose_quick_anew(pack.cases, staying, base)
        base.extend(staying)
        marked_count = mark_per_device(staying, docstring, pruner.refusal)
        print(f"{name}: documentation leaves {marked_count} refusals to each device")

    remove_cases(framework, packs, pruner.reason, tag=tag)


def prune_outside(framework: str) -> None:
    """Remove the cases of ``library`` with an input for which the function's result is undefined. Run no case.

    Every other case stays as it is. So a function that loses a quick case gets no other one: a tag is part of a digest.
    """
    packs = packs_in(FOLDER / framework / "suites" / SUITE)

    def reason(frozen_case: Frozen) -> str | None:
        if frozen_case["kind"] != "value":
            return None
        arrays, results = ([packs.array(digest) for digest in frozen_case[part]] for part in ("arrays", "expected"))
        is_outside = domain.is_outside(frozen_case["function"], frozen_case["call"], arrays, results)
        return domain.OUTSIDE if is_outside else None

    remove_cases(framework, packs, reason)


def remove_cases(
    framework: str,
    packs: PackSet,
    reason_of: Callable[[Frozen], str | None],
    *,
    kind: str = NOT_DETERMINED,
    tag: Callable[[Pack, str, list[dict[str, Any]]], None] = lambda pack, name, staying: None,
) -> None:
    """Remove cases from the files of ``library``, and list the removed cases as left out.

    ``reason_of`` returns the reason to remove a case; None if the case stays. ``tag`` may change the tags of the cases
    that stay; its arguments are a pack, the name of its file, and the cases that stay.
    """
    folder = FOLDER / framework / "suites" / SUITE
    for pack, name, list_name in zip(packs.packs, (PACK, VARIANTS_PACK), (LISTED, LISTED_VARIANTS)):
        staying, left_out = sift(pack.cases, reason_of, kind)
        tag(pack, name, staying)
        writer = PackWriter()
        for case in staying:
            writer.take(packs, case)
        if name == VARIANTS_PACK:
            writer.leave_to(Pack(folder / PACK))
        writer.write(folder / name, pack.about)
        (folder / list_name).write_text(add_left_out((folder / list_name).read_text(), left_out, framework))
        report(name, len(pack.cases), left_out)


def prune_examples(framework: str) -> None:
    """Remove the cases of ``docs`` that name the CPU as their device, and add them to the list of left-out examples."""
    folder = FOLDER / framework / "suites" / EXAMPLES
    packs = packs_in(folder)
    is_asking = {case["function"]: asks_for_cpu(Example.read(case["call"]).statements) for case in packs.cases}
    staying = [case for case in packs.cases if not is_asking[case["function"]]]
    left_out: list[Reason] = [(name, "", ASKS_FOR_CPU, "") for name, is_left_out in is_asking.items() if is_left_out]
    if left_out:
        writer = PackWriter()
        for case in staying:
            writer.take(packs, case)
        writer.write(folder / PACK, packs.packs[0].about)
        list_path = folder / LISTED
        list_path.write_text(add_left_out(list_path.read_text(), left_out, framework))
    report(EXAMPLES, len(packs.cases), left_out)


def other_processors_of(framework: str) -> OtherProcessors:
    """Return ``other_processors`` of the framework's module ``processor``. Without the module, it returns nothing."""
    module = module_of(framework, "processor")
    return (lambda: ()) if module is None else cast(OtherProcessors, module.other_processors)


def report(name: str, total: int, left_out: Sequence[Reason]) -> None:
    print(f"{name}: {len(left_out):,} of {total:,} cases are left out")
    for why, count in Counter(why or reason for *_, reason, why in left_out).most_common():
        print(f"  {count:,}: {why}")


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print("usage: python -m freezing.common.prune FRAMEWORK [--domain | CASE…]", file=sys.stderr)
        return 2
    if arguments[1:] == ["--domain"]:
        prune_outside(arguments[0])
        return 0
    warnings.simplefilter("ignore")
    prune_examples(arguments[0])
    prune(arguments[0], arguments[1:])
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
