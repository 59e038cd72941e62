"""The front page stays small, however many functions and modules exist."""

from __future__ import annotations

import re

from coordinator.atlas.index import index_of
from coordinator.atlas.overview import Atlas
from coordinator.atlas.pages import environment, front_page, module_page
from coordinator.catalogue.releases import shipped_release
from tests.unit.coordinator.atlas.evidence import atlas, charted_target

MOST_BYTES = 135_000
"""A tenth less than the front page's limit, so that functions can be added."""
FUNCTIONS = 3_800
DEVICES = ("cpu", "cuda", "mps", "rocm", "tpu", "xla")


def _of_real_names() -> Atlas:
    names = sorted(shipped_release("torch@2.9.0").kinds)
    assert len(names) >= FUNCTIONS
    functions = {names[place * len(names) // FUNCTIONS]: ["passed"] for place in range(FUNCTIONS)}
    return atlas(*(charted_target(functions, device=device) for device in DEVICES))


def test_the_front_of_3800_functions_on_six_targets_is_small() -> None:
    page = front_page(_of_real_names())
    html = environment().get_template(page.body).render(page.values, root=page.root, front_link="index.html")
    assert len(html.encode()) < MOST_BYTES


def test_a_target_that_only_lowers_programs_has_words_of_its_own() -> None:
    functions = {"jax.a": ["unproven"], "jax.b": ["failed"]}
    whole = atlas(charted_target(functions, device="tpu-lowered"), charted_target(functions, device="tpu"))
    page = front_page(whole)
    html = environment().get_template(page.body).render(page.values, root=page.root, front_link="index.html")
    assert re.findall(r'<span class="mark ([^"]+)">([^<]+)</span>', html.partition("only lowers programs")[2]) == [
        ("unproven", "lowered"),
        ("fails", "no lowering"),
    ]
    (index,) = index_of(whole).values()
    assert [column.get("lowered", False) for column in index["columns"]] == [False, True]


def test_a_module_names_the_target_of_each_cell_for_a_narrow_window() -> None:
    functions = {"torch.a": ["passed"]}
    (framework,) = atlas(*(charted_target(functions, device=device) for device in DEVICES)).frameworks
    page = module_page(framework, "torch")
    html = environment().get_template(page.body).render(page.values, root=page.root, front_link="index.html")
    assert re.findall('data-column="([^"]+)"', html) == [f"torch@2.9.0/{device}, AMD EPYC" for device in DEVICES]


def test_each_name_of_the_index_is_a_word_with_the_number_of_its_module() -> None:
    (index,) = index_of(atlas(charted_target({"torch.a": ["passed"], "torch.nn.b c%": ["passed"]}))).values()
    assert (index["modules"], index["names"]) == (["torch", "torch.nn"], "a 0 b%20c%25 1")
