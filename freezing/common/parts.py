"""Draw the parts of a suite, and merge them into the suite's two files.

A *part* is a file with the cases of one operator, and the reasons for its samples that are left out. Each part is drawn
in a separate process, so that an operator that crashes or hangs affects no other one. A freeze that was interrupted
continues with the missing parts.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from freezing.common.gate import ACCEPTED, ENOUGH, SampleGate
from freezing.common.kinds import mark_quick
from runners.suite.frozen import PACK, VARIANTS_PACK, Pack, PackWriter, packs_in

LIMIT_S = 600
"""The time limit for one part. A part that takes longer is stopped, and listed with the reason ``NEVER_ENDS``."""
ENDED = "its process ended"
ENDS = "it ends the process"
"""The reason of an input with which the call crashes its process, at once or later."""
NEVER_ENDS = "it never ends"
UNFIT = "unfit when it was tried"
"""The reason for cases that were drawn and then left out by hand, because they are slow or not determined."""
COUNTED = (ENOUGH, ACCEPTED)
"""The reasons for which the list has only the number of samples for each function."""
NOT_FINITE = "its second derivative is not finite"
LISTED = "left_out.json"
LISTED_VARIANTS = "left_out_variants.json"

Reason = Sequence[str]
"""Why a sample is left out: the function or operator, the sample's name, the kind of the reason, and a detail."""

Entry = Mapping[str, Any]
"""The facts about one public name in a file of the catalogue."""


def write_part(pack: PackWriter, left_out: Sequence[Reason], path: Path) -> None:
    pack.write(path, {"left_out": left_out})


def write_cases(
    pack: PackWriter, gates: Iterable[tuple[str, SampleGate]], path: Path, left_out: Sequence[Reason] = ()
) -> None:
    """Write a part with the cases that the gate of each function admitted, and with the reasons of all gates."""
    reasons = [*left_out]
    for name, gate in gates:
        pack.cases += gate.cases
        reasons += [(name, *reason) for reason in gate.left_out]
    write_part(pack, reasons, path)


def entries_of(surface: Path) -> list[Entry]:
    """Read the public names from a file of the catalogue: a header and lines of JSON, which may be compressed."""
    content = surface.read_bytes()
    text = gzip.decompress(content) if surface.suffix == ".gz" else content
    _, *entries = map(json.loads, text.splitlines())
    return entries


def drawn_apart(title: str, path: Path, draw: Callable[[Path], None], *, limit_s: int = LIMIT_S) -> None:
    """Draw a part in a forked process. If the process crashes or hangs, write a file that lists this as the reason."""
    partial_file = path.with_suffix(".part.npz")
    pid = os.fork()
    if pid == 0:
        signal.alarm(limit_s)
        code = 1
        try:
            draw(partial_file)
            code = 0
        except BaseException as error:
            print(f"{title}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGALRM:
        write_part(PackWriter(), [(title, "", NEVER_ENDS, f"it was stopped after {limit_s} s")], partial_file)
    elif code != 0 or not partial_file.exists():
        how = f"its process was ended by signal {-code}" if code < 0 else f"its process ended with {code}"
        write_part(PackWriter(), [(title, "", ENDED, how)], partial_file)
    os.replace(partial_file, path)


def draw_missing(
    folder: Path,
    titles: Sequence[str],
    draw: Callable[[int, Path], None],
    *,
    limit_s: int = LIMIT_S,
    pattern: str = "",
) -> None:
    """Draw every part that has no file in the folder yet and whose title matches ``pattern``.

    ``draw`` gets the index of a title, and the path of the part's file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number, title in enumerate(titles):
        path = folder / f"{number:04}.npz"
        if not path.exists() and re.search(pattern, title):
            drawn_apart(
                title,
                path,
                lambda unfinished, number=number: draw(number, unfinished),  # type: ignore[misc]
                limit_s=limit_s,
            )
            print(f"{number + 1}/{len(titles)} {title}", flush=True)


def merge(
    folder: Path,
    suite: Path,
    framework: str,
    version: str,
    left_out: Iterable[Reason] = (),
    *,
    has_quick_form: bool = True,
) -> None:
    """Merge the parts into the suite's two files: the cases, and the reasons for the samples that are left out."""
    whole, reasons = _put_together(folder)
    if has_quick_form:
        mark_quick(whole.cases)
    whole.write(suite / PACK, {framework: version})
    (suite / LISTED).write_text(list_left_out([*left_out, *reasons], framework, version))


def merge_variants(folder: Path, suite: Path, framework: str, version: str) -> None:
    """Merge the parts into the suite's two files of variants, next to the cases from which the variants are made."""
    whole, reasons = _put_together(folder)
    base = Pack(suite / PACK)
    mark_quick(whole.cases, base.cases)
    whole.leave_to(base)
    whole.write(suite / VARIANTS_PACK, {framework: version})
    (suite / LISTED_VARIANTS).write_text(list_left_out(reasons, framework, version))


def add_variants(
    folder: Path,
    suite: Path,
    framework: str,
    *,
    unfit: Collection[str] = (),
    role_of: Callable[[Mapping[str, Any]], Hashable] | None = None,
) -> None:
    """Add the parts to the suite's variants. Existing variants are kept, even if a part has a variant of the same name.

    A sample that was left out before and is now a case is removed from the list of left-out samples. ``unfit`` are ids
    of cases to leave out. With ``role_of``, existing variants are removed for which it returns the same as for one of
    the parts' cases.
    """
    packs = packs_in(suite)
    base, variants = packs.packs
    kept_cases = variants.cases
    if role_of is not None:
        new_roles = {role_of(case) for path in folder.rglob("[0-9]*.npz") for case in Pack(path).cases}
        kept_cases = [case for case in variants.cases if role_of(case) not in new_roles]
    left_out = {(function, name) for function, _, name in (case_id.partition("/") for case_id in unfit)}
    present = {(case["function"], case["name"]) for case in (*base.cases, *kept_cases)}
    whole, reasons = _put_together(folder, without=present | left_out)
    reasons += [(*name, UNFIT, "") for name in sorted(left_out)]
    new_names = {(case["function"], case["name"]) for case in whole.cases}
    mark_quick(whole.cases, [*base.cases, *kept_cases])
    for case in kept_cases:
        whole.take(packs, case)
    whole.cases.sort(key=lambda case: (case["function"], case["name"]))
    whole.leave_to(base)
    whole.write(suite / VARIANTS_PACK, variants.about)
    path = suite / LISTED_VARIANTS
    path.write_text(add_left_out(_without(path.read_text(), new_names, framework), reasons, framework))


def _put_together(folder: Path, *, without: Collection[tuple[str, str]] = ()) -> tuple[PackWriter, list[Reason]]:
    """Return the sorted cases of all parts in a folder and its subfolders, and the reasons for left-out samples.

    ``without`` are the functions and names of cases to omit.
    """
    whole = PackWriter()
    reasons: list[Reason] = []
    names: set[tuple[str, str]] = set()
    for path in sorted(folder.rglob("[0-9]*.npz")):
        part = Pack(path)
        reasons += part.about["left_out"]
        for case in part.cases:
            name = case["function"], case["name"]
            if name in names:
                reasons.append((*name, "tested by another operator too", ""))
                continue
            names.add(name)
            if name not in without:
                whole.take(part, case)
    whole.cases.sort(key=lambda case: (case["function"], case["name"]))
    print(f"{len(whole.cases):,} cases of {len({case['function'] for case in whole.cases})} functions")
    return whole, reasons


def list_left_out(left_out: Sequence[Reason], framework: str, version: str) -> str:
    """Return the list of all left-out samples, by reason, as JSON with a line for each function. For the reasons in
    ``COUNTED``, it has only the number of samples."""
    counts = Counter(reason for _, _, reason, _ in left_out)
    details: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for owner, sample, reason, detail in left_out:
        details[reason][owner][sample] = detail
    samples_by_reason: dict[str, dict[str, Any]] = {
        reason: {owner: len(samples) if reason in COUNTED else samples for owner, samples in owners.items()}
        for reason, owners in details.items()
    }
    return _as_json(framework, version, counts, samples_by_reason)


def add_left_out(list_text: str, left_out: Sequence[Reason], framework: str) -> str:
    """Return the text of the list of left-out samples, extended by the samples in ``left_out``."""
    content = json.loads(list_text)
    details = content["left_out"]
    before = {
        (owner, sample, reason)
        for reason, owners in details.items()
        if reason not in COUNTED
        for owner, samples in owners.items()
        for sample in samples
    }
    left_out = [reason for reason in left_out if tuple(reason[:3]) not in before]
    counts = Counter(content["counts"]) + Counter(reason for _, _, reason, _ in left_out)
    for owner, sample, reason, detail in left_out:
        owners = details.setdefault(reason, {})
        if reason in COUNTED:
            owners[owner] = owners.get(owner, 0) + 1
        else:
            owners.setdefault(owner, {})[sample] = detail
    return _as_json(framework, content[framework], counts, details)


def _without(list_text: str, names: Collection[tuple[str, str]], framework: str) -> str:
    """Return the list without these samples, which are named by function and name."""
    content = json.loads(list_text)
    counts = Counter(content["counts"])
    details: dict[str, dict[str, Any]] = {}
    for reason, owners in content["left_out"].items():
        for owner, samples in owners.items():
            if isinstance(samples, dict):
                removed_samples = {sample for sample in samples if (owner, sample) in names}
                counts[reason] -= len(removed_samples)
                samples = {sample: why for sample, why in samples.items() if sample not in removed_samples}
            if samples:
                details.setdefault(reason, {})[owner] = samples
    return _as_json(framework, content[framework], +counts, details)


def _as_json(framework: str, version: str, counts: Mapping[str, int], details: Mapping[str, Mapping[str, Any]]) -> str:
    reasons = [
        f"{json.dumps(reason)}: {{\n"
        + ",\n".join(f"{json.dumps(owner)}: {json.dumps(samples)}" for owner, samples in sorted(owners.items()))
        + "\n}"
        for reason, owners in sorted(details.items())
    ]
    head = f'{{"{framework}": {json.dumps(version)},\n"counts": {json.dumps(dict(sorted(counts.items())))},\n'
    return head + '"left_out": {\n' + ",\n".join(reasons) + "\n}}\n"
