"""Loads users' own suites: modules outside of Portolan that a runner serves in addition to the framework's suites.

The person who starts the runner names a suite by its path (``--suite ./my_suite``), or installs a package that offers a
suite. Such a package has an entry point ``<framework>.<suite>`` in the group ``portolan.suites``, which names the
suite's module. In both cases, the suite's module defines ``FUNCTIONS`` as in Portolan's suites. Requests cannot add
such suites. A path can also name a recording (``runners/suite/recording/``), which is a suite that consists of data.

A suite at a path is imported from this path, under its own name. Its folder is not put on ``sys.path``. So files next
to the suite, such as a folder ``torch``, hide no module of the framework's environment.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.enums import CONFORMANCE_SUITE
from runners import frameworks
from runners.errors import SuiteError
from runners.suite.framework import Framework

if TYPE_CHECKING:
    from runners.suite.suites import Suite

GROUP = "portolan.suites"
_PACKAGE = "__init__.py"
_RECORDING = ".json"


@dataclass(frozen=True)
class OwnSuite:
    """A user's own suite, before any part of it is imported."""

    name: str
    module: str
    source: str
    """The path or the entry point. Messages contain it, so that a person knows where to correct the suite."""
    file: Path | None = None
    """The file of the module; None if Python imports the module by its name."""

    @property
    def is_recording(self) -> bool:
        return self.file is not None and self.file.suffix == _RECORDING

    def __str__(self) -> str:
        return f"suite {self.name!r} ({self.source})"


def is_path(text: str) -> bool:
    """Whether a ``--suite`` option is a path, not the name of an existing suite."""
    return os.sep in text or text.endswith((".py", _RECORDING)) or text in (".", "..")


def at(path: str) -> OwnSuite:
    """Find the suite in a module's file or a package's folder. Imports nothing.

    Raises ``SuiteError`` if there is no suite.
    """
    place = Path(os.path.abspath(os.path.expanduser(path)))
    # ``os.path`` is used, because ``Path`` raises an error if a folder on the way cannot be entered.
    if not os.path.exists(place):
        raise SuiteError(f"--suite {path}: there is no such file or folder; name a suite's module or package")
    if os.path.isdir(place):
        if not os.path.isfile(place / _PACKAGE):
            raise SuiteError(f"--suite {path}: the folder has no {_PACKAGE}; make it a package, or name a module in it")
        return OwnSuite(place.name, place.name, str(place), place / _PACKAGE)
    if place.suffix not in (".py", _RECORDING):
        raise SuiteError(
            f"--suite {path}: this is neither a Python file nor a recording; name a suite's module or package"
        )
    return OwnSuite(place.stem, place.stem, str(place), place)


def suites_of_packages(framework: Framework) -> list[OwnSuite]:
    """Return the suites that installed packages offer for a framework, sorted by name. Imports nothing."""
    prefix = f"{framework.name}."
    entries = {(entry.name, entry.value) for entry in frameworks.entry_points(GROUP) if entry.name.startswith(prefix)}
    return [
        OwnSuite(name[len(prefix) :], module, f"entry point {name} = {module} of an installed package")
        for name, module in sorted(entries)
    ]


def load(
    framework: Framework, paths: Iterable[str], importing: Callable[[str], None] = lambda what: None
) -> dict[str, Suite]:
    """Import the suites at the paths, and the suites that installed packages offer. ``importing`` is called before each
    import.

    Raises ``SuiteError`` for the first suite that cannot be served.
    """
    additional_suites = [*map(at, paths), *suites_of_packages(framework)]
    _require_names(framework, additional_suites)
    suites = {}
    for own in additional_suites:
        importing(str(own))
        suites[own.name] = _load_suite(framework, own)
    return suites


def _require_names(framework: Framework, suites: Sequence[OwnSuite]) -> None:
    """Raise ``SuiteError`` if a suite's name cannot be imported, or if another suite has the same name."""
    names = dict.fromkeys([*framework.suites, CONFORMANCE_SUITE], "a suite that comes with Portolan")
    for own in suites:
        if not own.name.isidentifier():
            raise SuiteError(
                f"{own}: Python cannot import a module of this name: rename it, with letters, digits and '_' only"
            )
        if own.name in names:
            raise SuiteError(f"{own} has the same name as {names[own.name]}: rename your suite")
        names[own.name] = str(own)


def _load_suite(framework: Framework, own: OwnSuite) -> Suite:
    # If NumPy is missing, this import reports it, so the framework is imported first.
    from runners.suite.suites import load_suite

    if own.file is not None and own.is_recording:
        return _load_recording(framework, own.name, own.file)
    if own.file is not None:
        _require_free(own.module, own.file, own)
    try:
        if own.file is not None:
            _import_from(own.file, own.module)
        suite = load_suite(own.name, own.module)
        # Computed here, because its source may be unreadable, which must be reported now.
        _ = suite.revision
    except (Exception, SystemExit) as error:
        raise SuiteError(f"{own} cannot be imported ({_describe_error(error, own)}): correct the suite") from error
    _require_cases(framework, suite, own)
    return suite


def _load_recording(framework: Framework, name: str, file: Path) -> Suite:
    from runners.suite.recording.reading import functions_of
    from runners.suite.suites import Suite

    if framework.replay is None:
        raise SuiteError(
            f"{file}: recorded calls of {framework.name} cannot be replayed; name a recording of jax, tensorflow or "
            "torch"
        )
    module, _, case_of = framework.replay.partition(":")
    functions = functions_of(file, framework.name, getattr(importlib.import_module(module), case_of))
    if not functions:
        raise SuiteError(
            f"{file} has no calls to replay: read the reasons in left_out of this file, or record another command"
        )
    return Suite(name, module, functions)


def _require_free(module: str, file: Path, own: OwnSuite) -> None:
    """Raise ``SuiteError`` if importing the suite would replace another module of the same name."""
    module_before = sys.modules.get(module)
    spec = module_before.__spec__ if module_before is not None else importlib.util.find_spec(module)
    if module_before is None and spec is None:
        return
    origin = None if spec is None else spec.origin
    if origin is None or not os.path.exists(origin) or not os.path.samefile(origin, file):
        raise SuiteError(f"{own} has the same name as another module ({origin or module}): rename your suite")


def _import_from(file: Path, name: str) -> None:
    """Import a module from its file, or a package from its ``__init__`` file. ``sys.path`` is not searched."""
    folders = [str(file.parent)] if file.name == _PACKAGE else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _describe_error(error: BaseException, own: OwnSuite) -> str:
    """Return the error's own message, with the line of the suite that raised it."""
    words = f"{type(error).__name__}: {error}"
    if own.file is None or isinstance(error, SyntaxError):
        return words
    home = own.file.parent if own.file.name == _PACKAGE else own.file
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename) == home or home in Path(frame.filename).parents:
            return f"{words} ({frame.filename}, line {frame.lineno})"
    return words


def _require_cases(framework: Framework, suite: Suite, own: OwnSuite) -> None:
    if not suite.cases:
        raise SuiteError(f"{own} has no cases: define FUNCTIONS, a list of functions that each have at least one case")
    roots = frameworks.roots()
    for case in suite.cases:
        owner = roots.get(case.function.partition(".")[0], framework.name)
        if owner != framework.name:
            raise SuiteError(
                f"{own} has a case of {owner} ({case.id}), but this runner serves {framework.name}: "
                f"serve the suite with a runner of {owner}"
            )
