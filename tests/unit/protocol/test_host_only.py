"""Host-only functions: every suite uses the one declaration."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

from protocol.host_only import HostOnly, load_host_only
from runners.suite.cases import Function

ROOT = Path(__file__).parents[3]
DECLARATION = HostOnly({"a.shape": "it reads a shape", "a.tree.*": "it walks containers", "a.*.get": "it looks up"})


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a.shape", "it reads a shape"),
        ("a.tree.map", "it walks containers"),
        ("a.b.get", "it looks up"),
        ("a.shapes", None),
        ("b.a.shape", None),
        ("a.tree", None),
    ],
)
def test_a_name_has_the_reason_under_which_it_or_its_glob_stands(name: str, reason: str | None) -> None:
    assert DECLARATION.reason(name) == reason
    assert (name in DECLARATION) is (reason is not None)


def test_nothing_is_in_an_empty_declaration() -> None:
    assert HostOnly({}).reason("a") is None


def test_a_case_of_a_declared_function_is_host_only_whichever_suite_has_it() -> None:
    size = Function("torch.Tensor.size", np.shape)
    size.value("square", lambda inputs: [inputs.normal(2, 2)])
    total = Function("torch.sum", np.sum)
    total.value("square", lambda inputs: [inputs.normal(2, 2)])
    assert size.cases[0].host_only == load_host_only().reason("torch.Tensor.size")
    assert total.cases[0].host_only is None


def test_no_name_is_declared_beside_a_glob_that_has_it() -> None:
    reasons = load_host_only().reasons
    globs = [name for name in reasons if "*" in name]
    assert [(name, glob) for name in reasons for glob in globs if name != glob and fnmatchcase(name, glob)] == []


def test_no_suite_of_a_framework_declares_a_function_of_its_own() -> None:
    elsewhere = [
        file.relative_to(ROOT)
        for folder in ("torch", "tensorflow", "jax")
        for file in (ROOT / "runners" / folder / "suites").rglob("*.py")
        if "host_only" in file.read_text(encoding="utf-8")
    ]
    assert elsewhere == []
