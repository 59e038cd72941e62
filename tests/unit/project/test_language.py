"""Names and docstrings use plain technical language, as far as a program can check this."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.each import check_each

ROOT = Path(__file__).resolve().parents[3]
SOURCES = [
    path
    for folder in ("protocol", "coordinator", "runners", "freezing")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
EVERYTHING = [
    *SOURCES,
    *(path for folder in ("portolan", "bench", "scripts", "tests") for path in sorted((ROOT / folder).rglob("*.py"))),
]
RIDDLE = re.compile(r"(What|Whatever|Who|Whoever|Whose)\b(?!.*\?$)")
"""Docstrings that begin with these words do not name a thing. Questions are allowed."""


def bound_in_loops(tree: ast.Module) -> Iterator[ast.Name]:
    """Every name that a loop or a comprehension binds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield from (name for name in ast.walk(node.target) if isinstance(name, ast.Name))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The first lines of all docstrings: of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text.strip().partition("\n")[0]


def test_a_loop_variable_says_what_it_holds() -> None:
    empty_names = [
        f"{path.relative_to(ROOT)}:{name.lineno}: {name.id}"
        for path in EVERYTHING
        for name in bound_in_loops(ast.parse(path.read_text()))
        if name.id in ("each", "thing", "stuff")
    ]
    assert not empty_names


def test_a_docstring_says_what_it_is_of() -> None:
    check_each(SOURCES, check_docstrings, name=lambda path: str(path.relative_to(ROOT)))


def check_docstrings(path: Path) -> None:
    riddles = [f"{line}: {text}" for line, text in docstrings(ast.parse(path.read_text())) if RIDDLE.match(text)]
    assert not riddles


IRREGULAR = re.compile(
    "begun|bought|brought|built|caught|chosen|dealt|done|drawn|driven|fallen|felt|found|frozen|given|gone|got|grown|"
    "heard|held|hidden|kept|known|laid|led|lent|lost|made|meant|paid|said|seen|sent|shown|sold|spent|stood|taken|"
    "taught|thrown|told|torn|understood|won|written"
)
NOUNS = re.compile("bed|bound|come|embed|feed|heed|hundred|need|read|seed|shed|speed")
"""Words that look like participles but are nouns or verbs: a function may have the name ``read``."""
CEILINGS = {
    "protocol": (0.0, 0.0),
    "coordinator": (0.1, 0.0),
    "runners": (5.6, 9.7),
    "freezing": (0.5, 0.5),
    "portolan": (0.0, 0.0),
    "bench": (0.4, 0.0),
    "scripts": (0.1, 0.0),
    "tests": (0.6, 0.6),
}
"""The maximum share, in percent, of locals and parameters, and of functions, whose name is a bare participle. The goal
is 2."""
SLACK = 1.0
"""The percentage points by which a maximum may exceed the counted share. If it exceeds it by more, the maximum must be
lowered."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_participle(name: str) -> bool:
    """Whether a name is one word that says what was done and not what the value is: ``found``, ``_listed``."""
    word = name.lstrip("_")
    looks_so = IRREGULAR.fullmatch(word) or re.fullmatch("[a-z]{2,}ed", word)
    return looks_so is not None and NOUNS.fullmatch(word) is None


def locals_of(function: Function) -> set[str]:
    arguments = function.args
    names = {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    stored = (node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return names | {name.id for name in stored}


def is_property(function: Function) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def shares(folder: str) -> tuple[float, float]:
    """The shares, in percent, of a folder's locals and parameters, and of its functions, that are bare participles."""
    trees = [ast.parse(path.read_text()) for path in sorted((ROOT / folder).rglob("*.py"))]
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, Function)]
    values = [name for function in functions for name in locals_of(function)]
    actions = [function.name for function in functions if not is_property(function)]
    return per_cent(values), per_cent(actions)


def per_cent(names: list[str]) -> float:
    return 100 * sum(map(is_participle, names)) / max(len(names), 1)


@pytest.mark.parametrize("folder", CEILINGS)
def test_a_value_is_named_by_what_it_holds_and_a_function_by_what_it_does(folder: str) -> None:
    for share, ceiling in zip(shares(folder), CEILINGS[folder], strict=True):
        assert share <= ceiling, f"{folder}: {share:.2f} % of names are bare participles: name what the value holds"
        assert share >= ceiling - SLACK, f"{folder}: only {share:.2f} % are left: lower the ceiling"


def test_participles_are_told_from_other_words() -> None:
    assert all(map(is_participle, ("found", "_listed", "given", "shown", "refused")))
    assert not any(map(is_participle, ("seed", "found_rows", "need", "rows", "is_told", "embed", "bound")))


FRAMEWORKS = {"jax", "tensorflow", "torch"}
COUNTERPARTS = {
    "Cpu": "a device of the framework",
    "Cuda": "a device of the framework",
    "Tpu": "a device of the framework",
    "Xla": "a device of the framework",
    "FrozenCall": "a call of the framework whose arguments are data",
    "FrozenPair": "a call and a reference for it, both data",
    "ReplayedCall": "a call of a recorded suite",
    "_Comparison": "the comparison of each operation with the CPU",
    "Draw": "a draw of arguments for frozen cases",
    "Recipe": "a description of a function's frozen cases",
}
"""Class names that may stand once in the code of each framework: the same role behind the same interface. No process
imports two frameworks, so no module can see two of these classes."""
IN_CASES = {
    "Sample": "a stored call of PyTorch's tests that a case reads, and one that freezing writes",
    "Scale": "a module of a case that saves a model, and one of a case that registers a module",
}
"""Class names of cases that other code also has. The code of a case decides its suite's revision, so it stays."""


def classes(path: Path) -> Iterator[str]:
    """The classes of a module, except those inside a function, which other modules cannot name."""
    return (node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef))


def are_counterparts(paths: list[Path]) -> bool:
    """Whether each class is of another framework, on the same side: of the runners, or of freezing."""
    frameworks = [FRAMEWORKS & set(path.parts) for path in paths]
    are_of_frameworks = all(frameworks) and len(set().union(*frameworks)) == len(paths)
    return are_of_frameworks and len({path.parts[0] for path in paths}) == 1


def test_a_class_name_stands_for_one_thing() -> None:
    homes: dict[str, list[Path]] = defaultdict(list)
    for path in EVERYTHING:
        for name in () if "tests" in path.relative_to(ROOT).parts else classes(path):
            homes[name].append(path.relative_to(ROOT))
    ambiguous = {name: paths for name, paths in homes.items() if len(paths) > 1}
    other_names = {name: paths for name, paths in ambiguous.items() if name not in {*COUNTERPARTS, *IN_CASES}}
    assert not other_names, f"rename the less fundamental one: {other_names}"
    assert ambiguous.keys() == {*COUNTERPARTS, *IN_CASES}, "remove the names that stand once now from the list"
    assert all(are_counterparts(ambiguous[name]) for name in COUNTERPARTS)
    assert all(any("suites" in path.parts for path in ambiguous[name]) for name in IN_CASES)
