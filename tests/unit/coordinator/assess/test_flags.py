"""Flags that are off by default, and the places that the target reaches only if such a flag is on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordinator.assess.harmless import IF_GIVEN, IF_ON
from coordinator.assess.sites import Flag
from coordinator.assess.verdicts import Weight
from tests.unit.coordinator.assess.cases import assessment_of, several, site
from tests.unit.coordinator.assess.test_inference import IMPORTS, read_code

SOLVER = """
class Solver:
    def __init__(self, check=False):
        self._check = check
    def solve(self, x):
        if self._check:
            torch.lu(x)
        return x
"""
HISTOGRAM = """
def histogram(x, edges=None, sparse=False):
    if edges is None:
        y = x
    else:
        y = torch.lu(x)
    return y
def blur(x):
    return histogram(x)
"""


def flag_of(code: str, **other_files: str) -> Flag | None:
    """The flag of the only use of ``torch.lu``."""
    files = {f"{name}.py": IMPORTS + text for name, text in other_files.items()}
    (place,) = [one for one in read_code({"main.py": IMPORTS + code, **files}).sites if one.function == "torch.lu"]
    return place.flag


@pytest.mark.parametrize(
    "condition",
    ["sparse", "sparse and len(x)", "not (not sparse or x)", "sparse is True", "not (not sparse)", "sparse == True"],
)
def test_a_place_under_a_parameter_that_is_off_has_a_flag(condition: str) -> None:
    code = f"def f(x, sparse=False):\n    if {condition}:\n        torch.lu(x)"
    assert flag_of(code) == Flag("sparse")


@pytest.mark.parametrize(
    "body",
    [
        "    if not sparse:\n        return x\n    else:\n        return torch.lu(x)",
        "    return torch.lu(x) if sparse else x",
        "    return x if not sparse else torch.lu(x)",
        "    if sparse:\n        for y in x:\n            torch.lu(y)",
        "    if not sparse:\n        return x\n    y = x + 1\n    return torch.lu(y)",
        "    assert sparse\n    return torch.lu(x)",
    ],
)
def test_other_branches_have_a_flag_too(body: str) -> None:
    assert flag_of(f"def f(x, sparse=False):\n{body}") == Flag("sparse")


@pytest.mark.parametrize(
    "condition", ["not sparse", "sparse or x", "sparse is False", "len(sparse)", "x", "sparse != True"]
)
def test_a_condition_that_holds_without_the_flag_gives_none(condition: str) -> None:
    assert flag_of(f"def f(x, sparse=False):\n    if {condition}:\n        torch.lu(x)") is None


def test_a_flag_that_is_on_by_default_is_none() -> None:
    assert flag_of("def f(x, sparse=True):\n    if sparse:\n        torch.lu(x)") is None
    assert flag_of("def f(x, sparse):\n    if sparse:\n        torch.lu(x)") is None


def test_fields_are_flags() -> None:
    assert flag_of(SOLVER) == Flag("check")
    config = "class Config:\n    sparse: bool = False\n"
    assert flag_of("def f(x, config):\n    if config.sparse:\n        torch.lu(x)", config=config) == Flag("sparse")
    assert flag_of("def f(x, config):\n    if config.sparse:\n        torch.lu(x)") is None


@pytest.mark.parametrize(
    "code",
    [
        "Solver(check=True)",
        "Solver(True)",
        "def make(check):\n    return Solver(check=check)",
        "def make(kind):\n    return Solver(check=kind == 'dense')",
        "Solver(**{'check': True})",
        "def switch(solver):\n    solver._check = True",
        "def switch(solver, check=True):\n    return Solver(check=check)",
        "class Config:\n    check: bool = True",
    ],
)
def test_code_that_may_switch_a_flag_on_removes_it(code: str) -> None:
    assert flag_of(SOLVER, other=f"from main import Solver\n{code}") is None


@pytest.mark.parametrize(
    "code",
    [
        "Solver()",
        "Solver(check=False)",
        "Solver(False)",
        "def make(check=False):\n    return Solver(check=check)",
        "def make(config):\n    return Solver(check=config.check)",
        "def make(solver, check=config.check):\n    return solver",
        "def make(check=False):\n    return Solver(check=check and torch.cuda.is_available())",
        "torch.foo(check=True)",
    ],
)
def test_code_that_leaves_a_flag_off_does_not_count(code: str) -> None:
    assert flag_of(SOLVER, other=f"from main import Solver\n{code}") == Flag("check")


def test_tests_do_not_switch_flags_on() -> None:
    use = "from main import Solver\nSolver(check=True)"
    source = read_code({"main.py": IMPORTS + SOLVER, "tests/test_main.py": use})
    assert [place.flag for place in source.sites if place.function == "torch.lu"] == [Flag("check")]


def test_a_method_of_an_unknown_object_may_be_the_method_with_the_flag() -> None:
    code = "class Solver:\n    def solve(self, x, sparse=False):\n        if sparse:\n            torch.lu(x)\n"
    assert flag_of(code + "def run(solver, x):\n    solver.solve(x)") == Flag("sparse")
    assert flag_of(code + "def run(solver, x):\n    solver.solve(x, True)") is None


def test_a_parameter_that_no_code_gives_to_a_function_is_a_flag() -> None:
    assert flag_of(HISTOGRAM) == Flag("edges", is_none=True)
    assert flag_of(HISTOGRAM.replace("if edges is None", "if not (edges is not None)")) == Flag("edges", is_none=True)


@pytest.mark.parametrize(
    "code",
    [
        HISTOGRAM.replace("histogram(x)", "histogram(x, edges=x)"),
        HISTOGRAM.replace("histogram(x)", "histogram(x, x)"),
        HISTOGRAM.replace("histogram(x)", "histogram(x, edges=x.edges)"),
        HISTOGRAM.replace("return histogram(x)", "return x"),
        "class Layer(nn.Module):\n    def forward(self, x, mask=None):\n        if mask is not None:\n"
        "            torch.lu(x)\n    def run(self, x):\n        return self.forward(x)",
    ],
)
def test_other_parameters_may_be_given(code: str) -> None:
    assert flag_of(code) is None


SEPARATE = "def f(x, sparse=False):\n    if sparse:\n        _factor(x)\ndef _factor(x):\n    return torch.lu(x)\n"


def test_a_private_function_belongs_to_the_mode_in_which_alone_it_is_used() -> None:
    assert flag_of(SEPARATE) == Flag("sparse")


@pytest.mark.parametrize(
    "code",
    [
        SEPARATE + "def g(x):\n    _factor(x)",
        SEPARATE + "TABLE = [_factor]",
        SEPARATE + "def g(x):\n    f(x, sparse=True)",
        SEPARATE.replace("_factor", "factor"),
        "class A:\n    def _factor(self, x):\n        torch.lu(x)\n    def f(self, x, sparse=False):\n"
        "        if sparse:\n            self._factor(x)\ndef g(a):\n    a._factor(1)",
    ],
)
def test_a_function_that_may_be_used_otherwise_belongs_to_no_mode(code: str) -> None:
    assert flag_of(code) is None


POOL = (
    "class Pool(nn.Module):\n    def __init__(self, kind='mean'):\n        self.kind = kind\n"
    "    def forward(self, x):\n        if self.kind == 'lu':\n            torch.lu(x)\n        return x\n"
)


@pytest.mark.parametrize(
    "code",
    [
        POOL,
        POOL + "Pool()",
        POOL + "Pool(kind='max')",
        POOL + "Pool('max')",
        "def f(x, kind='mean'):\n    if kind == 'lu':\n        torch.lu(x)",
        "def f(x, kind='mean'):\n    return torch.lu(x) if kind == 'lu' else x",
        "class Pool:\n    kind: str = 'mean'\n    def run(self, x):\n        if self.kind == 'lu':\n"
        "            torch.lu(x)",
    ],
)
def test_a_text_that_no_code_passes_is_a_flag(code: str) -> None:
    assert flag_of(code) == Flag('kind="lu"')


@pytest.mark.parametrize(
    "code",
    [
        POOL.replace("'mean'", "'lu'"),
        POOL.replace("='mean'", ""),
        POOL.replace("self.kind == 'lu'", "self.kind != 'lu'"),
        POOL + "Pool(kind='lu')",
        POOL + "Pool('lu')",
        POOL + "CONFIG = {'kind': 'lu'}",
        POOL + "    def switch(self):\n        self.kind = 'lu'",
    ],
)
def test_a_text_that_code_may_pass_is_no_flag(code: str) -> None:
    assert flag_of(code) is None


USES_CONFIG = "def step(x, config):\n    if config.mask:\n        torch.lu(x)\n"


def test_an_entry_of_a_configuration_that_is_false_is_a_flag() -> None:
    assert flag_of(USES_CONFIG + "CONFIG = dict(mask=False)") == Flag("mask")
    assert flag_of(USES_CONFIG + "CONFIG = {'mask': False}") == Flag("mask")
    assert flag_of(USES_CONFIG + "CONFIG = {'mask': True}") is None
    assert flag_of(USES_CONFIG + "CONFIG = dict(mask=False)\nOTHER = dict(mask=True)") is None
    assert flag_of(USES_CONFIG) is None


def test_a_flag_that_is_off_may_be_passed_on_by_position() -> None:
    assert flag_of(SOLVER, other="from main import Solver\ndef make(check=False):\n    Solver(check)") == Flag("check")
    assert flag_of(SOLVER, other="from main import Solver\ndef make(check):\n    Solver(check)") is None


def test_a_place_that_is_off_is_a_note_with_the_flag_if_it_only_costs_time() -> None:
    for flag, why in (
        (Flag("sparse"), IF_ON.format("sparse")),
        (Flag("edges", is_none=True), IF_GIVEN.format("edges")),
    ):
        place = replace(site(), flag=flag)
        (finding,) = assessment_of(several(3, "usual", "fell_back"), place).findings
        assert (finding.verdict.weight, finding.verdict.why_note) == (Weight.note, why)
        (finding,) = assessment_of(several(3, "usual", "failed"), place).findings
        assert finding.verdict.weight is Weight.condition


def test_a_class_that_is_made_in_a_mode_that_is_off_is_a_note() -> None:
    place = replace(site(function="torch.nn.Foo", within="Net.__init__"), flag=Flag("pools"))
    (finding,) = assessment_of({"torch.nn.Foo": several(3, "usual", "fell_back")}, place).findings
    assert finding.verdict.weight is Weight.note
    (finding,) = assessment_of({"torch.nn.Foo": several(3, "usual", "fell_back")}, replace(place, flag=None)).findings
    assert finding.verdict.weight is Weight.finding
