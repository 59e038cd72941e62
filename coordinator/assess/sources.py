"""Reads a user's code into sites, in worker processes and within limits.

Each file is parsed separately. When all files have been parsed, their names are resolved. If a file cannot be read, the
reason is reported, and the other files are read nevertheless.
"""

from __future__ import annotations

import importlib.machinery
import os
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path, PurePosixPath
from sys import intern

from coordinator.assess.inference import read_file
from coordinator.assess.knowledge import Knowledge, PublicNames, read_shipped
from coordinator.assess.linking import CallEdge, Linker
from coordinator.assess.mentions import Facts, FileReading, Mention, Parcel
from coordinator.assess.modes import with_flags
from coordinator.assess.notebooks import code_of, is_old
from coordinator.assess.repetition import function_use
from coordinator.assess.sites import AssessedSource, CallGraph, Flag, Site, UnreadFile, function_of
from coordinator.catalogue.surfaces import ROOTS
from coordinator.catalogue.usage import sources as files
from coordinator.catalogue.usage.sources import FileFilter
from coordinator.catalogue.usage.workers import UNPARSABLE, Workers, fault_of
from coordinator.errors import AssessmentError
from coordinator.figures.formats import join_words
from coordinator.operating_system.free_memory import return_free_memory
from protocol.garbage import garbage_collection_paused

BATCH_FILES = 12
BATCH_BYTES = 150_000
BATCHES_AHEAD = 2
"""The number of batches for each worker that are submitted before the first of them has a result."""
FRAMEWORKS: Collection[str] = tuple(ROOTS)
_FRAMEWORK_OF = {root: name for name, root in ROOTS.items()}
SUFFIXES = (".py", ".ipynb")
OLD_NOTEBOOK = "a notebook of format 3 or older: convert it with `jupyter nbconvert --to notebook --inplace`"
SHOWN_REASONS = 3
"""The maximum number of unread files in a message."""
_ARCHIVES = (".whl", ".zip", ".egg", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_NO_CODE_OF_THE_USER = frozenset({"__pycache__", "node_modules", "site-packages", "__pypackages__"})


def read_sources(path: Path, *, frameworks: Collection[str] = FRAMEWORKS) -> AssessedSource:
    """Read a folder, a file, a notebook, a wheel or an sdist into the sites that use the frameworks.

    ``frameworks`` are names such as ``torch``. Raises ``AssessmentError`` if there is nothing to read at the path.
    """
    with SourceReader(path) as reader:
        return reader.read(frameworks)


class SourceReader:
    """Reads code in worker processes, which begin at once: so the caller can load evidence in the meantime. The code is
    the same as for ``read_sources``."""

    def __init__(self, path: Path) -> None:
        source_files = _files(path)
        self._knowledge, self._public = read_shipped()
        self._readings = _Readings(source_files, _package_above(path), self._knowledge)

    def __enter__(self) -> SourceReader:
        return self

    def __exit__(self, *error: object) -> None:
        self._readings.close()

    def read(self, frameworks: Collection[str] = FRAMEWORKS) -> AssessedSource:
        """Wait until all code was read, and link it. Call this once."""
        roots = {ROOTS[name] for name in frameworks if name in ROOTS}
        # Millions of objects without cycles are created. Searching them for cycles would take half of the time.
        with garbage_collection_paused():
            return link_readings(self._readings, self._knowledge, self._public, roots)


def link_readings(
    file_readings: Iterable[FileReading], knowledge: Knowledge, public: PublicNames, roots: Collection[str]
) -> AssessedSource:
    """Combine the results of all files. Does no I/O."""
    source, graph = _link(file_readings, knowledge, public, roots)
    use = function_use(graph, source.sites)
    return replace(
        source,
        is_repeated={name: name in use.repeated_functions for name in graph.functions},
        offered_functions=use.offered_functions,
        trained_functions=use.trained_functions,
    )


def _link(
    file_readings: Iterable[FileReading], knowledge: Knowledge, public: PublicNames, roots: Collection[str]
) -> tuple[AssessedSource, CallGraph]:
    facts = Facts()
    readings: list[FileReading] = []
    for reading in file_readings:
        facts.add(reading.facts)
        readings.append(reading.without_names())
    facts.finish()
    # The memory is largest below, and the workers' answers have left free memory between the facts.
    return_free_memory()
    linker = Linker(facts, readings, knowledge, public)
    # Only the linker needed the passed arguments, and only the loop below needs the mentions. They are released early,
    # because the memory is largest at the end of this function.
    nothing = Facts()
    for reading in readings:
        reading.facts = nothing
    sites: list[Site] = []
    # Tuples, because a set takes several times as much memory, and most functions call few others.
    calls: dict[str, tuple[str, ...]] = defaultdict(tuple)
    handed_on: dict[str, tuple[str, ...]] = defaultdict(tuple)
    host_functions: dict[str, bool] = {}
    uses_of_private: dict[str, set[tuple[str, Flag | None]]] = {}
    for reading in readings:
        for use in linker.uses(reading):
            if isinstance(use, CallEdge):
                if use.caller != use.callee:
                    host_functions[use.callee] = host_functions.get(use.callee, True) and use.keeps_host
                caller, callee = intern(use.caller), intern(use.callee)
                if callee.rpartition(".")[2].startswith("_"):
                    uses_of_private.setdefault(callee, set()).add((caller, use.flag))
                is_in_function = caller != reading.module
                if is_in_function and callee not in calls[caller]:
                    calls[caller] += (callee,)
                if (use.is_handed_on or not is_in_function) and callee not in handed_on[caller]:
                    handed_on[caller] += (callee,)
            elif use.function.partition(".")[0] in roots:
                sites.append(use)
        reading.mentions = Parcel(Mention)
    return_free_memory()
    functions = dict(linker.user_functions(readings))
    on_flags = linker.on_flags
    if len(readings) > 1:
        # No code of the user gives a device to a function that nothing calls.
        for name in linker.functions_on_host():
            host_functions.setdefault(name, True)
    del linker, facts
    graph = CallGraph(
        functions=functions,
        calls=_freeze(calls),
        handed_on=_freeze(handed_on),
        modules={reading.path: reading.module for reading in readings if reading.is_read},
    )
    source = AssessedSource(
        sites=tuple(
            with_flags(
                _put_on_host(sites, graph.modules, {name for name, is_host in host_functions.items() if is_host}),
                graph,
                uses_of_private,
                on_flags,
            )
        ),
        device_questions=tuple(dict.fromkeys(question for reading in readings for question in reading.questions)),
        unread=tuple(unread for reading in readings for unread in reading.unread),
        files=sum(reading.is_read for reading in readings),
        frameworks=frozenset(_FRAMEWORK_OF[root] for reading in readings for root in reading.frameworks),
        star_imports=sum(reading.star_imports for reading in readings),
        dynamic_names=sum(reading.dynamic_names for reading in readings),
        calls=graph.calls,
        modules=graph.modules,
    )
    return source, graph


def _put_on_host(sites: Iterable[Site], modules: Mapping[str, str], host_functions: Set[str]) -> Iterator[Site]:
    """The sites; those in functions that use the host are marked."""
    for site in sites:
        is_in_host_function = host_functions and function_of(site, modules) in host_functions
        yield replace(site, is_on_host=True) if is_in_host_function else site


def _freeze(names: dict[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """The names as sets. They are converted one by one, so that not all exist twice in memory."""
    return {key: frozenset(names.pop(key)) for key in tuple(names)}


def locate(name_or_path: str) -> Path:
    """The path, if it exists. Otherwise, the folder or file of the installed package with this name. The package is not
    imported.

    Raises ``AssessmentError`` if neither the path nor the package exists.
    """
    if not name_or_path:
        raise AssessmentError("the PATH is empty: name a folder, a .py file, a notebook or an installed package")
    path = Path(name_or_path)
    try:
        if path.exists():
            return path
        if all(part.isidentifier() for part in name_or_path.split(".")):
            package = _installed_path(name_or_path)
            if package is not None:
                return package
    except (OSError, ValueError) as error:
        raise AssessmentError(
            f"{name_or_path!r} cannot be a path or the name of a package ({error}): "
            "name a folder, a .py file, a notebook or an installed package"
        ) from error
    raise AssessmentError(
        f"{name_or_path} is not a file or folder here, and no package of that name is installed: "
        "name a folder, a .py file, a notebook, a wheel, an sdist or an installed package"
    )


def nothing_read(name_or_path: str, source: AssessedSource) -> str:
    """The error message if none of the files could be read. It contains the reasons."""
    nothing = f"{name_or_path} has no Python file that can be read"
    if not source.unread:
        return f"{nothing}: name a folder, a .py file, a notebook or a package with Python files"
    reasons = [f"{unread.path}: {unread.reason}" for unread in source.unread]
    return f"{nothing} ({join_words(reasons, SHOWN_REASONS)}): correct a file, or name another path"


def _installed_path(name: str) -> Path | None:
    search: list[str] | None = None
    spec = None
    for part in name.split("."):
        spec = importlib.machinery.PathFinder.find_spec(part, search)
        if spec is None:
            return None
        search = list(spec.submodule_search_locations or ())
    if search:
        return Path(search[0])
    return Path(spec.origin) if spec is not None and spec.origin and spec.origin.endswith(".py") else None


# Files


def _files(path: Path) -> Iterator[files.SourceFile]:
    if not path.exists():
        raise AssessmentError(f"{path} does not exist: check the path")
    if path.is_dir():
        return files.sources(
            path, FileFilter(SUFFIXES, names_linked_folders=True, opens_archives=False, enters=_is_of_the_user)
        )
    if path.is_file() and path.name.endswith(SUFFIXES):
        return iter([files.read_file(path, path.name)])
    if path.is_file() and path.name.lower().endswith(_ARCHIVES):
        return files.sources(path, FileFilter(SUFFIXES, opens_archives=False))
    raise AssessmentError(
        f"{path} is not a file that can be assessed: name a folder, a .py file, a notebook, a wheel or an sdist"
    )


def _is_of_the_user(folder: os.DirEntry[str]) -> bool:
    """Whether a folder may contain the user's code. Environments and folders of tools do not."""
    if folder.name.startswith(".") or folder.name in _NO_CODE_OF_THE_USER:
        return False
    return not os.path.exists(os.path.join(folder.path, "pyvenv.cfg"))


class _Readings:
    """The readings of all files, in order. Workers read the first files before the first reading is needed."""

    def __init__(self, source_files: Iterator[files.SourceFile], base: str, knowledge: Knowledge) -> None:
        processes = len(os.sched_getaffinity(0))
        self._batches = _batches(source_files)
        self._most_waiting = BATCHES_AHEAD * processes
        self._workers = Workers(processes, parse_files, _crash_reading, _prepare, (knowledge, base))
        self._waiting: deque[tuple[Sequence[files.SourceFile], Future[list[FileReading]]]] = deque()
        try:
            self._submit()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[FileReading]:
        while self._waiting:
            for readings in self._workers.results(*self._waiting.popleft()):
                self._submit()
                yield from readings
        # The workers end before the readings are linked, so that both do not take memory at the same time.
        self.close()

    def close(self) -> None:
        self._workers.close()

    def _submit(self) -> None:
        """Let the workers have the next batches."""
        while len(self._waiting) < self._most_waiting and (batch := next(self._batches, None)) is not None:
            self._waiting.append((batch, self._workers.submit(batch)))


def _batches(source_files: Iterator[files.SourceFile]) -> Iterator[list[files.SourceFile]]:
    batch: list[files.SourceFile] = []
    size = 0
    for source in source_files:
        batch.append(source)
        size += len(source.content)
        if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _package_above(path: Path) -> str:
    """Return the dotted name of the package that contains a file or folder, with a dot at its end; an empty text if no
    package contains it."""
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    parts: list[str] = []
    while (folder / "__init__.py").is_file() and folder.name:
        parts.insert(0, folder.name)
        folder = folder.parent
    return "".join(f"{part}." for part in parts)


# In a worker

_knowledge: Knowledge
_base = ""
"""The dotted prefix of module names. It is set once in each worker process."""


def _prepare(knowledge: Knowledge, base: str) -> None:
    global _knowledge, _base
    _knowledge, _base = knowledge, base


def parse_files(batch: Sequence[files.SourceFile]) -> list[FileReading]:
    """Read several files in a worker process."""
    return [read_one(source, _base, _knowledge) for source in batch]


def read_one(source: files.SourceFile, base: str, knowledge: Knowledge) -> FileReading:
    """Read one file. If it cannot be read, the result contains the reason."""
    path = source.name.rpartition("!")[2] if source.package else source.name
    module, is_package = module_of(path)
    module = f"{base}{module}".rstrip(".")
    if source.refusal is not None:
        return unread(path, module, source.refusal)
    if not path.endswith(".ipynb"):
        try:
            return read_file(source.content, path, module, is_package=is_package, knowledge=knowledge)
        except UNPARSABLE as error:
            return unread(path, module, fault_of(error))
    try:
        notebook = code_of(source.content)
    except (ValueError, RecursionError):
        return unread(path, module, OLD_NOTEBOOK if is_old(source.content) else "no notebook")
    try:
        reading = read_file(notebook.content, path, module, is_package=False, knowledge=knowledge)
    except UNPARSABLE as error:
        return unread(path, module, fault_of(error))
    return reading.of_cells(
        notebook.places,
        [UnreadFile(f"{path}#{cell.number}", fault_of(cell.error)) for cell in notebook.unread if cell.error],
    )


def unread(path: str, module: str, reason: str) -> FileReading:
    return FileReading(path, module, unread=[UnreadFile(path, reason)], is_read=False)


def _crash_reading(source: files.SourceFile) -> list[FileReading]:
    return [unread(source.name, source.name, "ended the process that read it")]


def module_of(path: str) -> tuple[str, bool]:
    """The dotted name of a file's module relative to the start of the assessment, and whether the file is a package."""
    parts = PurePosixPath(path).with_suffix("").parts
    is_package = bool(parts) and parts[-1] == "__init__"
    names = parts[:-1] if is_package else parts
    return ".".join(part.replace(".", "_") for part in names), is_package
