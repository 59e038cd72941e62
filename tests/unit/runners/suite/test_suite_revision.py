"""The revision of a suite changes with whatever decides a result, and with nothing else.

Every change is made to a copy of the files of a small suite and of ``runners/suite``, and digested by an interpreter
of its own, as a runner's fork server does.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from runners.suite.source import free_names, syntax_text
from tests.interpreters import bare_environment, find, of_version

ROOT = Path(__file__).resolve().parents[4]
CASES = '''\
"""Sums."""

import numpy as np

from runners.suite.cases import Function
from runners.suite.checks import Tolerance
from vendor.suites.sums import helpers
from vendor.suites.sums.helpers import SCALE, added as total

LOOSE = Tolerance(1e-3, 1e-3)


def drawn(make):
    return [make.normal(8, 3)]


def is_finite(observed, x, axis=None):
    assert np.isfinite(observed.values).all()


add = Function("vendor.add", total)
add.value("plain", drawn)
add.value("loose", drawn, tolerance=LOOSE)
add.value("axis", lambda make: [SCALE * make.normal(4)], reference=lambda x, axis: np.sum(x, axis), axis=0)
add.value("other", lambda make: [make.normal(4)], reference=lambda x: helpers.doubled(x) / 2)
add.behaviour("finite", drawn, is_finite)
for name, stored in helpers.stored().items():
    add.value(name, lambda make, stored=stored: [np.asarray(stored)])

FUNCTIONS = [add]
'''
HELPERS = '''\
"""Helpers of the sums."""

import json
from pathlib import Path

import numpy as np

SCALE = 2.0


def added(x, axis=None):
    """The sum."""
    return np.sum(x, axis)


def doubled(x):
    return x * 2


def stored():
    return json.loads(Path(__file__).with_name("stored.json").read_text())
'''
DIGEST = """
import json, sys
from runners.suite.suites import load_suite
suite = load_suite("sums", "vendor.suites.sums")
print(json.dumps([suite.revision, dict(suite.digests)]))
"""
OTHER_VERSIONS = ("3.9", "3.12", "3.13")
WITH_SCIPY = """\
import numpy as np
from runners.suite.optional import optional

special = optional("scipy.special")
"""
ALL = {"plain", "loose", "axis", "other", "finite", "one", "two"}


@dataclass(frozen=True)
class Digested:
    revision: str
    cases: Mapping[str, str]

    def difference(self, other: Digested) -> set[str]:
        names = {*self.cases, *other.cases}
        return {name.partition("/")[2] for name in names if self.cases.get(name) != other.cases.get(name)}


@dataclass(frozen=True)
class Checkout:
    """A copy of what a revision is digested from."""

    folder: Path

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.folder / path
        text = file.read_text()
        assert old in text
        written_at = file.stat().st_mtime
        file.write_text(text.replace(old, new))
        # As by hand: Python takes its bytecode for that of a source of the same size, written in the same second.
        os.utime(file, (written_at + 2, written_at + 2))

    def digest(self, interpreter: str = sys.executable) -> Digested:
        process = subprocess.run(
            [interpreter, "-c", DIGEST], cwd=self.folder, capture_output=True, text=True, check=False, timeout=120
        )
        assert process.returncode == 0, process.stderr
        return Digested(*json.loads(process.stdout))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    for package in ("runners/suite", "protocol"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "runners/__init__.py").touch()
    shutil.copy(ROOT / "runners/errors.py", tmp_path / "runners")
    suite = tmp_path / "vendor/suites/sums"
    suite.mkdir(parents=True)
    for folder in (suite, suite.parent, suite.parent.parent):
        (folder / "__init__.py").touch()
    (suite / "cases.py").write_text(CASES)
    (suite / "helpers.py").write_text(HELPERS)
    (suite / "stored.json").write_text('{"one": [1.0, 2.0], "two": [3.0]}')
    return Checkout(tmp_path)


SUMS = "vendor/suites/sums/"
NOTHING = {
    "a comment": (SUMS + "cases.py", "def drawn(make):\n", "# Drawn.\ndef drawn(make):  # at random\n    # Now.\n"),
    "a docstring": (SUMS + "helpers.py", '"""The sum."""', '"""The sum of all.\n\n    Or of an axis."""'),
    "an annotation": (SUMS + "helpers.py", "def doubled(x):", "def doubled(x: 'np.ndarray') -> 'np.ndarray':"),
    "layout": (SUMS + "cases.py", 'add.value("axis", lambda make:', 'add.value(\n    "axis",\n\n    lambda make:'),
    "parentheses and quotes": (SUMS + "helpers.py", "return x * 2", "return (\n        x\n        * 2)"),
    "another order": (SUMS + "cases.py", "add = Function", "FUNCTIONS = []\nadd = Function"),
    "a helper that no case uses": (SUMS + "helpers.py", "def doubled", "def unused():\n    return 1\n\n\ndef doubled"),
    "layout of data": (SUMS + "stored.json", '{"one": ', '{\n  "one":   '),
    "a comment of the shared checks": ("runners/suite/checks.py", "\ndef compare(", "\n# Compared.\ndef compare("),
}
CHANGES = {
    "a tolerance": (SUMS + "cases.py", "Tolerance(1e-3, 1e-3)", "Tolerance(2e-3, 1e-3)", {"loose"}),
    "an input": (SUMS + "cases.py", "make.normal(8, 3)", "make.normal(8, 4)", {"plain", "loose", "finite"}),
    "a constant that an input uses": (SUMS + "helpers.py", "SCALE = 2.0", "SCALE = 3.0", {"axis"}),
    "an option": (SUMS + "cases.py", "axis=0)", "axis=-1)", {"axis"}),
    "a check": (SUMS + "cases.py", "assert np.isfinite", "assert not np.isnan", {"finite"}),
    "a reference": (SUMS + "helpers.py", "np.sum(x, axis)", "x.sum(axis)", {"plain", "loose", "one", "two"}),
    "a reference's helper": (SUMS + "helpers.py", "return x * 2", "return x + x", {"other"}),
    "one of two lambdas of a line": (SUMS + "cases.py", "helpers.doubled(x) / 2", "helpers.doubled(x) / 3", {"other"}),
    "a dtype": (
        SUMS + "cases.py",
        'add.value("plain", drawn)',
        'add.value("plain", drawn, dtype="float64")',
        {"plain"},
    ),
    "a function": (SUMS + "cases.py", '"vendor.add", total', '"vendor.add", total, alias_of="vendor.ad"', ALL),
    "stored data": (SUMS + "stored.json", "[3.0]", "[4.0]", {"two"}),
    "a case's name": (SUMS + "cases.py", '"other"', '"another"', {"other", "another"}),
    "the shared source of inputs": (
        "runners/suite/cases.py",
        "rng.standard_normal(shape)",
        "rng.normal(size=shape)",
        ALL,
    ),
    "an input that may change": (
        SUMS + "cases.py",
        'add.value("plain", drawn)',
        'add.value("plain", drawn, in_place=(0,))',
        {"plain"},
    ),
    "a case that cannot be repeated": (
        SUMS + "cases.py",
        'add.value("plain", drawn)',
        'add.value("plain", drawn, unrepeatable="it goes on")',
        {"plain"},
    ),
    "the judgement of inputs": ("runners/suite/judgement.py", "changed = ~(", "changed = (", ALL),
    "the judgement of a later result": ("runners/suite/judgement.py", "error.right_at) from", "None) from", ALL),
    "the shared checks": ("runners/suite/checks.py", "equal_nan=True", "equal_nan=False", ALL),
}


@pytest.mark.parametrize("change", NOTHING)
def test_what_decides_no_result_leaves_the_revision(checkout: Checkout, change: str) -> None:
    before = checkout.digest()
    checkout.edit(*NOTHING[change])
    assert checkout.digest() == before


def test_a_new_empty_file_leaves_the_revision(checkout: Checkout) -> None:
    before = checkout.digest()
    (checkout.folder / SUMS / "more.py").touch()
    assert checkout.digest() == before


@pytest.mark.parametrize("change", CHANGES)
def test_what_decides_a_result_changes_the_revision_and_its_own_cases_alone(checkout: Checkout, change: str) -> None:
    path, old, new, cases = CHANGES[change]
    before = checkout.digest()
    checkout.edit(path, old, new)
    after = checkout.digest()
    assert after.revision != before.revision
    assert after.difference(before) == cases


def test_a_helper_may_move_to_another_module(checkout: Checkout) -> None:
    before = checkout.digest()
    helper_source = "def doubled(x):\n    return x * 2\n"
    checkout.edit(SUMS + "helpers.py", helper_source, "from vendor.suites.sums.moved import doubled\n")
    (checkout.folder / SUMS / "moved.py").write_text(helper_source)
    assert checkout.digest().difference(before) <= {"other"}


@pytest.mark.parametrize("version", ["3.9", "3.12"])
def test_a_suite_has_one_revision_in_every_version_of_python(
    checkout: Checkout, version: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With another NumPy, too, and without the SciPy that computes one of the references."""
    checkout.edit(SUMS + "cases.py", "import numpy as np\n", WITH_SCIPY)
    checkout.edit(SUMS + "cases.py", "lambda x: helpers.doubled(x) / 2", "lambda x: special.expit(special.logit(x))")
    checkout.edit(SUMS + "helpers.py", "return np.sum(x, axis)", "return f'{np.sum(x, axis)!r:>{len(x)}}' '' 'and'")
    python = bare_environment(of_version(version), tmp_path_factory.mktemp("bare"))
    assert checkout.digest(str(python)) == checkout.digest()


def test_two_versions_of_python_write_the_same_source_alike(tmp_path: Path) -> None:
    """``written`` and ``free_names`` over every file of cases, in each interpreter that is here."""
    script = (
        "import ast, hashlib, pathlib, sys, source\n"
        "digest = hashlib.sha256()\n"
        f"for path in sorted(pathlib.Path({str(ROOT / 'runners')!r}).rglob('suites/**/*.py')):\n"
        "    for node in ast.walk(ast.parse(path.read_text())):\n"
        "        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):\n"
        "            digest.update(repr((source.syntax_text(node), sorted(source.free_names(node)))).encode())\n"
        "print(digest.hexdigest())\n"
    )
    shutil.copy(ROOT / "runners/suite/source.py", tmp_path)
    digests = {
        interpreter: subprocess.run(
            [interpreter, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
        ).stdout
        for interpreter in [sys.executable, *filter(None, map(find, OTHER_VERSIONS))]
    }
    assert len(set(digests.values())) == 1, digests


def test_source_is_written_without_the_words_of_one_version_of_python() -> None:
    (function,) = ast.parse("def f(x: int = -1) -> str:\n    'Doc.'\n    return f'{{{x!r:>{w}}' 'b' + u'c'").body
    assert syntax_text(function) == (
        "FunctionDef(name='f',args=arguments(args=[arg(arg='x')],defaults=[UnaryOp(op=USub(),operand=int:1)]),"
        "body=[Return(value=BinOp(left=JoinedStr('{',FormattedValue(value=Name(id='x'),conversion=114,"
        "format_spec=JoinedStr('>',FormattedValue(value=Name(id='w'),conversion=-1))),'b'),op=Add(),right=str:'c'))])"
    )
    assert free_names(function) == {"w"}
