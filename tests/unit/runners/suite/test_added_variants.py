"""Added variants: a new kind comes to the variants of a suite, and what was there stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from freezing.common.gate import ACCEPTED
from freezing.common.parts import LISTED_VARIANTS, UNFIT, add_variants, draw_missing, list_left_out, write_part
from runners.suite.frozen import PACK, QUICK, VARIANTS_PACK, Pack, PackWriter, packs_in


def packed(path: Path, name: str, *tags: str, value: float) -> None:
    writer = PackWriter()
    writer.cases.append(case(writer, name, *tags, value=value))
    writer.write(path, {"torch": "2.9.0"})


def case(writer: PackWriter, name: str, *tags: str, value: float) -> dict[str, Any]:
    digest = writer.add(np.full(3, value, np.float32), "float32")
    return {
        "function": "torch.abs",
        "name": name,
        "call": '{"tuple":[[{"array":0}],{"mapping":[]}]}',
        "tags": list(tags),
        "arrays": [digest],
        "expected": [digest],
    }


def test_a_new_kind_comes_to_what_was_there(tmp_path: Path) -> None:
    packed(tmp_path / PACK, "float32", "plain", QUICK, value=1.0)
    packed(tmp_path / VARIANTS_PACK, "float32-tails", "tails", QUICK, value=2.0)
    earlier = [("torch.abs", "float32-refused", "not determined", "why")]
    (tmp_path / LISTED_VARIANTS).write_text(list_left_out(earlier, "torch", "2.9.0"))
    parts, part = tmp_path / "parts" / "offset", PackWriter()
    parts.mkdir(parents=True)
    part.cases.append(case(part, "float32-offset", "offset", value=3.0))
    later = [("torch.abs", "float64-offset", "not determined", "why")]
    write_part(part, later, parts / "0000.npz")

    add_variants(tmp_path / "parts", tmp_path, "torch")

    packs = packs_in(tmp_path)
    variants = {one["name"]: one for one in Pack(tmp_path / VARIANTS_PACK).cases}
    assert {name: packs.array(one["arrays"][0])[0] for name, one in variants.items()} == {
        "float32-offset": 3.0,
        "float32-tails": 2.0,
    }
    assert [name for name, one in variants.items() if QUICK in one["tags"]] == ["float32-offset", "float32-tails"]
    assert (tmp_path / LISTED_VARIANTS).read_text() == list_left_out([*earlier, *later], "torch", "2.9.0")

    written = (tmp_path / VARIANTS_PACK).read_bytes()
    add_variants(tmp_path / "parts", tmp_path, "torch")
    assert (tmp_path / VARIANTS_PACK).read_bytes() == written, "the same parts are added once"
    assert (tmp_path / LISTED_VARIANTS).read_text() == list_left_out([*earlier, *later], "torch", "2.9.0")


def test_a_variant_that_is_there_stays_and_a_sample_that_is_a_case_now_is_not_listed(tmp_path: Path) -> None:
    packed(tmp_path / PACK, "float32", "plain", QUICK, value=1.0)
    packed(tmp_path / VARIANTS_PACK, "float32-nan", "non-finite", value=2.0)
    others = [("torch.abs", "float64-nan", "no reference agrees", "why"), ("torch.neg", "emptied", ACCEPTED, "")]
    listed_before = [*others, ("torch.abs", "float32-infinity", "no reference agrees", "why")]
    (tmp_path / LISTED_VARIANTS).write_text(list_left_out(listed_before, "torch", "2.9.0"))
    parts, part = tmp_path / "parts" / "non-finite", PackWriter()
    parts.mkdir(parents=True)
    part.cases += [case(part, f"float32-{name}", "non-finite", value=3.0) for name in ("nan", "infinity")]
    write_part(part, [], parts / "0000.npz")

    add_variants(tmp_path / "parts", tmp_path, "torch")

    packs = packs_in(tmp_path)
    cases = {one["name"]: one for one in Pack(tmp_path / VARIANTS_PACK).cases}
    assert {name: packs.array(one["arrays"][0])[0] for name, one in cases.items()} == {
        "float32-infinity": 3.0,
        "float32-nan": 2.0,
    }
    assert (tmp_path / LISTED_VARIANTS).read_text() == list_left_out(others, "torch", "2.9.0")


def test_only_parts_whose_titles_match_are_drawn(tmp_path: Path) -> None:
    titles = ["torch.nn.Linear", "torch.nn.BatchNorm1d", "torch.nn.LayerNorm"]
    draw_missing(tmp_path, titles, lambda number, path: write_part(PackWriter(), [], path), pattern="Norm")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0001.npz", "0002.npz"]


def test_what_the_suite_has_and_what_is_unfit_is_not_added(tmp_path: Path) -> None:
    packed(tmp_path / PACK, "float32", "plain", value=1.0)
    packed(tmp_path / VARIANTS_PACK, "float32-tails", "tails", value=2.0)
    (tmp_path / LISTED_VARIANTS).write_text(list_left_out([], "torch", "2.9.0"))
    parts, part = tmp_path / "parts" / "sizes", PackWriter()
    parts.mkdir(parents=True)
    part.cases += [
        case(part, "float32-tails", "tails", value=9.0),
        case(part, "float32-slow", "sized-large", value=3.0),
        case(part, "float32-odd", "sized-odd", value=4.0),
    ]
    write_part(part, [], parts / "0000.npz")

    add_variants(tmp_path / "parts", tmp_path, "torch", unfit=["torch.abs/float32-slow"])

    variants = Pack(tmp_path / VARIANTS_PACK)
    assert [one["name"] for one in variants.cases] == ["float32-odd", "float32-tails"]
    assert packs_in(tmp_path).array(variants.cases[1]["arrays"][0])[0] == 2.0
    assert variants.about == {"torch": "2.9.0"}
    left_out = [("torch.abs", "float32-slow", UNFIT, "")]
    assert (tmp_path / LISTED_VARIANTS).read_text() == list_left_out(left_out, "torch", "2.9.0")


def test_a_new_variant_replaces_those_with_the_same_role(tmp_path: Path) -> None:
    packed(tmp_path / PACK, "float32", "plain", QUICK, value=1.0)
    packed(tmp_path / VARIANTS_PACK, "float32-1-float16", "low-precision", value=2.0)
    (tmp_path / LISTED_VARIANTS).write_text(list_left_out([], "torch", "2.9.0"))
    parts, part = tmp_path / "parts", PackWriter()
    parts.mkdir()
    part.cases.append(case(part, "float32-2-float16", "low-precision", value=3.0))
    write_part(part, [], parts / "0000.npz")

    add_variants(parts, tmp_path, "torch", role_of=lambda one: one["name"].rpartition("-")[2])

    assert [one["name"] for one in Pack(tmp_path / VARIANTS_PACK).cases] == ["float32-2-float16"]
