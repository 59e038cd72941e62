"""The documentation is right as far as a program can check: links, commands and options, columns, layout."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from scripts.command_options import commands
from tests.each import check_each

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_IMAGE = re.compile(r'<(?:img|source)[^>]+(?:src|srcset)="([^"]+)"')
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_PROGRAM = re.compile(r"(?:\.venv/bin/)?(portolan-runner|portolan)")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _anchors(page: Path) -> set[str]:
    """The anchors of all headings, as GitHub makes them."""
    prose = _BLOCK.sub("", page.read_text())
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_relative_link_and_image_leads_somewhere() -> None:
    check_each(PAGES, check_every_relative_link_and_image_leads_somewhere, name=_name)


def check_every_relative_link_and_image_leads_somewhere(page: Path) -> None:
    prose = _BLOCK.sub("", page.read_text())
    broken = []
    for link in _LINK.findall(prose) + _IMAGE.findall(prose):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_relative_to(ROOT) or not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert not broken


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached_pages, waiting = set(), [PAGES[0]]
    while waiting:
        page = waiting.pop()
        reached_pages.add(page)
        for link in _LINK.findall(_BLOCK.sub("", page.read_text())):
            target = (page.parent / link.partition("#")[0]).resolve()
            targets = sorted(target.glob("*.md")) if target.is_dir() else [target]
            waiting += [target for target in targets if target in PAGES and target not in reached_pages]
    assert sorted(map(_name, set(PAGES) - reached_pages)) == []


def _command_lines(page: Path) -> Iterator[str]:
    """The commands to type: lines of unmarked and shell blocks, and code within a sentence."""
    text = page.read_text()
    for language, block in _BLOCK.findall(text):
        if language in ("", "sh", "bash", "shell", "console"):
            yield from block.replace("\\\n", " ").splitlines()
    yield from _INLINE.findall(_BLOCK.sub("", text))


def _calls(page: Path) -> Iterator[list[str]]:
    """The words of every call of Portolan's programs, from the program to the end of the command."""
    for line in _command_lines(page):
        for part in re.split(r"\|\||&&|\$\(|[|;&>]|\)", line):
            match = re.search(r"(?:^|\s|\"|!)((?:\.venv/bin/)?portolan(?:-runner)?(?:\s.*)?)$", part)
            if match is None:
                continue
            try:
                words = shlex.split(match[1].replace("…", ""))
            except ValueError:
                words = match[1].split()
            program = _PROGRAM.fullmatch(words[0])
            if program is not None and len(words) > 1:
                yield [program[1], *words[1:]]


COMMANDS = {
    name: {"--help", *(option_name for option in command.options for option_name in option.names)}
    for name, command in commands().items()
}
"""The options of every command."""


def test_every_command_and_option_exists() -> None:
    check_each(PAGES, check_every_command_and_option_exists, name=_name)


def check_every_command_and_option_exists(page: Path) -> None:
    wrong = []
    for words in _calls(page):
        command = words[0]
        for word in words[1:]:
            if f"{command} {word}" not in COMMANDS:
                break
            command = f"{command} {word}"
        has_commands = any(name.startswith(f"{command} ") for name in COMMANDS)
        # Behind two dashes stands a command of the reader's.
        own = words[: words.index("--")] if "--" in words else words
        options = [word.partition("=")[0] for word in own if word.startswith("-")]
        if has_commands and not options:
            wrong.append(" ".join(words))
        wrong += [f"{command} {option}" for option in options if option not in COMMANDS[command]]
    assert not wrong


def test_the_check_of_commands_sees_what_is_there() -> None:
    """The reference page names every command, so the check must find all of them."""
    page = ROOT / "docs" / "reference" / "command-line.md"
    called_commands = {" ".join(words[:length]) for words in _calls(page) for length in (2, 3)}
    groups = {"portolan", "portolan-runner", "portolan runner", "portolan fleet", "portolan db"}
    assert sorted(set(COMMANDS) - groups - called_commands) == []


def test_every_option_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    options = {option for of_command in COMMANDS.values() for option in of_command if option.startswith("--")}
    assert sorted(option for option in options if option not in text) == []


def test_every_file_that_is_named_exists() -> None:
    check_each(PAGES, check_every_file_that_is_named_exists, name=_name)


def check_every_file_that_is_named_exists(page: Path) -> None:
    """Check paths in code within a sentence, if they begin with one of the project's folders."""
    folders = ("protocol/", "coordinator/", "runners/", "tests/", "migrations/", "bench/", "docs/")
    named_paths = [text for text in _INLINE.findall(_BLOCK.sub("", page.read_text())) if text.startswith(folders)]
    # In the data directory there is a folder of this name too.
    missing = [
        named_path
        for named_path in named_paths
        if not (ROOT / named_path).exists() and named_path not in ("runners/torch-xla/log",)
    ]
    assert not missing


def test_a_decision_is_short_and_has_its_three_parts() -> None:
    check_each(
        [page for page in PAGES if page.parent.name == "decisions"],
        check_a_decision_is_short_and_has_its_three_parts,
        name=_name,
    )


def check_a_decision_is_short_and_has_its_three_parts(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert [line for line in lines if line.startswith("## ")] == ["## Context", "## Decision", "## Consequences"]
    assert len(lines) <= 25


def test_every_decision_is_linked_from_a_page_that_it_explains() -> None:
    links = {link for page in PAGES if page.parent.name != "decisions" for link in _LINK.findall(page.read_text())}
    names = {Path(link.partition("#")[0]).name for link in links}
    assert [_name(page) for page in PAGES if page.parent.name == "decisions" and page.name not in names] == []


def test_notebooks_are_kept_without_their_output() -> None:
    """The output depends on who ran the notebook last, and reviewers of a change cannot check it."""
    notebooks = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
    assert notebooks
    for notebook in notebooks:
        cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
        assert not [cell for cell in cells if cell["outputs"] or cell["execution_count"] is not None], notebook.name


def test_every_variable_of_ours_is_in_the_settings() -> None:
    code = [path for name in ("protocol", "coordinator", "runners", "bench") for path in (ROOT / name).rglob("*.py")]
    variables = {name for module in code for name in re.findall(r"\"(PORTOLAN_[A-Z_]+)\"", module.read_text())}
    text = (ROOT / "docs" / "reference" / "settings.md").read_text()
    assert sorted(name for name in variables if f"`{name}`" not in text) == []
