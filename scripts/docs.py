"""Writes the parts of the documentation that come from the code into their pages: ``make docs``.

With ``--check`` nothing is written, and the exit code is 1 if a page differs from the code. A table is identified by
its first line, which is unique on its page or in its section. Some sections begin with a paragraph from the code. The
rest of a page is written by hand.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from coordinator.access.roles import Role
from coordinator.atlas.marks import Mark
from coordinator.causes.rules import verdict_of
from coordinator.configuration.bounds import Bounds
from coordinator.configuration.times import Times
from coordinator.conformance.contract import CLAUSES
from coordinator.conformance.times import CheckTimes
from coordinator.conformance.validity import VERDICTS
from coordinator.database.views import VIEWS, View
from coordinator.figures.counting import RULES
from coordinator.reports.table import Missing
from coordinator.results.comparison.models import ComparisonGate
from protocol import catalogue, events, jobs, outcomes, problems, runner
from protocol.enums import Cause, ConformanceTag, Ending, Placement, Repetition, TimingPolicy, Verdict
from protocol.jobs import JobStatus
from protocol.limits import NO_SLASH
from protocol.option_limits import MAX_VALUE
from runners.suite.placement import Unproven
from scripts.command_options import CommandHelp, Option, commands

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PROMISED_COLUMNS = ROOT / "tests" / "integration" / "coordinator" / "database" / "promised_columns.txt"
"""View, column and type of each column that readers may rely on. A test compares them with the database."""
MESSAGES: dict[str, type[BaseModel]] = {
    name: value
    for module in (runner, catalogue, jobs, events, outcomes, problems)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__
}
"""The messages of the runner API, by name."""
POWERS = {
    2**15 - 1: "32,767",
    2**31 - 1: "2³¹ - 1",
    2**63 - 1: "2⁶³ - 1",
    -(2**31): "-2³¹",
    1e9: "10⁹",
    1e12: "10¹²",
}
OPTION_HEADING = "| option | meaning |"
COMMON_OPTIONS = {"--url", "--data-dir", "--python", "--json"}
"""Options that the page of the command line explains once for all commands."""
COMMAND_LINE = "reference/command-line.md"
"""The page with a section for each command, or for a few commands: ``### status, results, cancel``."""
_OPTION_OR_VARIABLE = re.compile(r"(?<![\w`-])(--[a-z][a-z-]*|\$PORTOLAN_\w+)(?!\w*`)")
_COLUMN_OR_VIEW = re.compile(r"(?<!`)\b([a-z]+(?:_[a-z]+)+)\b")
_QUOTATION = re.compile(r"(?<=[ (])'([^' ][^']*)'(?=[ ;.,)])")


@dataclass(frozen=True)
class GeneratedTable:
    page: str
    """The path below ``docs/``."""
    heading: str
    """The first line of the table."""
    rows: Callable[[], Iterator[str]]
    """A function that yields the lines below the heading and its rule."""
    sections: tuple[str, ...] = ()
    """The headings of the sections that contain the table, the outer first, if other sections have a table with the
    same heading."""

    def rewrite(self, text: str) -> str:
        """The text of the page, with the table's rows replaced by those from the code.

        Raises ``ValueError`` if the heading does not occur exactly once on the page, or in the section.
        """
        start, end = 0, len(text)
        for section_heading in self.sections:
            start, end = section_bounds(text, section_heading, start, end)
        section = text[start:end]
        before, heading, after = section.partition(f"\n{self.heading}\n")
        if not heading or heading in after:
            where = f" in {' and '.join(self.sections)}" if self.sections else ""
            raise ValueError(f"give docs/{self.page} exactly one table with the heading {self.heading}{where}")
        rule, *lines = after.split("\n")
        rest = next((number for number, line in enumerate(lines) if not line.startswith("|")), len(lines))
        new_section = "\n".join([before, self.heading, rule, *self.rows(), *lines[rest:]])
        return text[:start] + new_section + text[end:]


@dataclass(frozen=True)
class GeneratedParagraph:
    """The first paragraph of a section."""

    page: str
    sections: tuple[str, ...]
    words: str

    def rewrite(self, text: str) -> str:
        start, end = section_bounds(text, *self.sections)
        heading, _, rest = text[start + 1 : end].partition("\n\n")
        _, _, others = rest.partition("\n\n")
        words = _COLUMN_OR_VIEW.sub(r"`\1`", " ".join(self.words.split()))
        paragraph = textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False)
        return f"{text[: start + 1]}{heading}\n\n{paragraph}\n\n{others}{text[end:]}"


def section_bounds(text: str, heading: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """The bounds of the section with this heading: up to the next heading of the same or a higher level."""
    end = len(text) if end is None else end
    section_start = text.find(f"\n{heading}\n", start, end)
    if section_start < 0:
        raise ValueError(f"add the heading {heading} to the page")
    level = len(heading) - len(heading.lstrip("#"))
    next_heading = re.compile(rf"\n#{{1,{level}}} ").search(text, section_start + 1, end)
    return section_start, next_heading.start() if next_heading else end


def counting_rules() -> Iterator[str]:
    yield from (f"| `{rule.name}` | {rule.sentence} |" for rule in RULES)


def clauses() -> Iterator[str]:
    yield from (f"| `{clause.id}` | {clause.sentence} | {clause.level.value} |" for clause in CLAUSES)


def reasons_without_proof() -> Iterator[str]:
    yield from (f"| {reason} | {reason.sentence} |" for reason in Unproven)


def members(
    vocabulary: type[StrEnum], verdicts: Mapping[Any, Verdict] | None = None, *, as_code: bool = False
) -> Iterator[str]:
    """A row for each member of an enumeration, with the text below it, and with its verdict if ``verdicts`` has it."""
    for name, text in texts_below(vocabulary):
        assert text, f"write a docstring below {vocabulary.__name__}.{name}"
        member = vocabulary[name]
        cells = [f"`{member}`" if as_code else member, _cell(text), *([verdicts[member]] if verdicts else [])]
        yield f"| {' | '.join(cells)} |"


def texts_below(kind: type) -> Iterator[tuple[str, str]]:
    """The members of an enumeration, or the fields of a dataclass, each with the text below it, or with none."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    for statement, next_statement in zip_longest(definition.body, definition.body[1:]):
        match statement:
            case ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]):
                is_text = isinstance(next_statement, ast.Expr)
                yield name, " ".join(ast.literal_eval(next_statement.value).split()) if is_text else ""


def limits() -> Iterator[str]:
    """A row for the members of a message that have the same allowed values and the same default."""
    for name, model in MESSAGES.items():
        if name == "Problem":
            continue  # RFC 9457 defines it.
        schema = model.model_json_schema()
        rows: dict[tuple[str, str], list[str]] = defaultdict(list)
        for member, field in schema["properties"].items():
            default = f"`{json.dumps(field['default'])}`" if "default" in field and "const" not in field else ""
            if not default and "const" not in field and member not in schema.get("required", []):
                default = "empty"
            rows[_in_words(field, schema.get("$defs", {})), default].append(f"`{member}`")
        for (values, default), members in rows.items():
            yield f"| `{name}`: {', '.join(members)} | {values} | {default} |"


def _in_words(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """The allowed values of a member in words, from its JSON schema."""
    if "anyOf" in field:
        return " or ".join(_in_words(choice, definitions) for choice in field["anyOf"])
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        if name == "JsonValue":
            return f"any value of at most {MAX_VALUE} characters in JSON"
        words = definitions[name].get("enum")
        return "one of " + ", ".join(f"`{word}`" for word in words) if words else f"`{name}`"
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return "one of " + ", ".join(f"`{word}`" for word in field["enum"])
    match field["type"]:
        case "integer" | "number":
            whole = "an integer" if field["type"] == "integer" else "a number"
            lowest = field.get("minimum", field.get("exclusiveMinimum"))
            above = "over" if "exclusiveMinimum" in field else "from"
            return f"{whole} {above} {_number(lowest)} to {_number(field.get('maximum'))}"
        case "string":
            text = f"text of {field['minLength']} to" if "minLength" in field else "text of at most"
            only = ", of `A-Z a-z 0-9 _ . : -`" if "A-Z" in field.get("pattern", "") else ""
            none = ", without `/`" if field.get("pattern") == NO_SLASH else ""
            return f"{text} {_number(field.get('maxLength'))} characters{only}{none}"
        case "array":
            least = f"{field['minItems']} to" if "minItems" in field else "at most"
            return f"a list of {least} {_number(field.get('maxItems'))}, each {_in_words(field['items'], definitions)}"
        case "object":
            values = field.get("patternProperties", {"": field.get("additionalProperties")})
            inner = _in_words(next(iter(values.values())), definitions)
            return f"an object of at most {_number(field.get('maxProperties'))} members, each {inner}"
        case other:
            return {"boolean": "true or false", "null": "null"}[other]


def columns(view: View) -> Iterator[str]:
    for line in PROMISED_COLUMNS.read_text().splitlines():
        name, column, kind = line.split(" ", 2)
        if name == view.name:
            yield f"| `{column}` | {kind} | {view.columns[column]} |"


def bounds() -> Iterator[str]:
    for setting in settings_of(Bounds):
        limit, _, consequence = setting.text.partition(". Beyond it: ")
        yield f"| {setting.names} | {setting.defaults} | {_cell(limit)} | {_cell(consequence)} |"


def times(kind: type) -> Iterator[str]:
    for setting in settings_of(kind):
        sentence, _, _ = setting.text.partition(". ")
        yield f"| {setting.names} | {setting.defaults} | {_cell(sentence)} |"


def command_tables() -> Iterator[GeneratedTable]:
    """A table of the commands of each section, and a table of their options if the section has its heading."""
    text = (DOCS / COMMAND_LINE).read_text()
    for program in ("portolan", "portolan-runner"):
        start, end = section_bounds(text, f"## {program}")
        for heading in re.findall(r"^### .+$", text[start:end], re.MULTILINE):
            own_commands = commands_of(program, heading.removeprefix("### ").split(", "))
            if not own_commands:
                continue
            sections = (f"## {program}", heading)
            yield GeneratedTable(COMMAND_LINE, "| command | purpose |", partial(purposes_of, own_commands), sections)
            section_start, section_end = section_bounds(text, heading, start, end)
            if OPTION_HEADING in text[section_start:section_end]:
                yield GeneratedTable(COMMAND_LINE, OPTION_HEADING, partial(options_of, own_commands), sections)


def commands_of(program: str, names: Sequence[str]) -> Sequence[CommandHelp]:
    """The commands with these names. A group of commands is replaced by its commands."""
    return [
        command
        for name, command in commands().items()
        if any(f"{name} ".startswith(f"{program} {own_name} ") for own_name in names)
        and not any(other.startswith(f"{name} ") for other in commands())
    ]


def purposes_of(own_commands: Sequence[CommandHelp]) -> Iterator[str]:
    yield from (f"| `{command.usage}` | {_in_code(command.purpose)} |" for command in own_commands)


def options_of(own_commands: Sequence[CommandHelp]) -> Iterator[str]:
    """A row for each option of these commands. Options that the page explains for all commands are not included."""
    takers: dict[Option, list[str]] = defaultdict(list)
    for command in own_commands:
        for option in command.options:
            if COMMON_OPTIONS.isdisjoint(option.names):
                takers[option].append(command.name.rpartition(" ")[2])
    for option, own_takers in takers.items():
        names = ", ".join(f"`{name}`" for name in option.names)
        only = "" if len(own_takers) == len(own_commands) else ", ".join(f"`{name}`" for name in own_takers) + ": "
        yield f"| {names} | {only}{_meaning(option)} |"


def _in_code(text: str) -> str:
    return _OPTION_OR_VARIABLE.sub(r"`\1`", text).removesuffix(".").replace("|", "\\|")


def _meaning(option: Option) -> str:
    text = _QUOTATION.sub(r"`\1`", option.meaning).removesuffix(".").replace("|", "\\|")
    choices = "; one of " + ", ".join(f"`{choice}`" for choice in option.choices) if option.choices else ""
    default = f" (default: {option.default})" if option.default else ""
    return f"{text[:1].upper()}{text[1:]}{choices}{default}"


@dataclass(frozen=True)
class SettingRow:
    """A field of a settings object, with those of the following fields that have no text of their own."""

    names: str
    defaults: str
    text: str


def settings_of(kind: type) -> list[SettingRow]:
    """The fields of a settings dataclass in order, each with the text below it."""
    default_settings = kind()
    settings: list[SettingRow] = []
    for field, text in texts_below(kind):
        name, default = f"`{field}`", f"{getattr(default_settings, field):,.10g}"
        if text:
            settings.append(SettingRow(name, default, text))
        else:
            first = settings.pop()
            settings.append(SettingRow(f"{first.names}, {name}", f"{first.defaults}, {default}", first.text))
    return settings


def _cell(sentence: str) -> str:
    """A sentence of a docstring in the form for a table."""
    text = sentence.removesuffix(".").replace("``", "`")
    return text[:1].lower() + text[1:]


def _number(value: float | None) -> str:
    assert value is not None, "every number, text and list has its limits"
    return POWERS.get(value, f"{value:,.0f}")


PARTS: tuple[GeneratedTable | GeneratedParagraph, ...] = (
    GeneratedTable("reference/words.md", "| verdict of an outcome | meaning |", partial(members, Verdict)),
    GeneratedTable("reference/words.md", "| placement | meaning |", partial(members, Placement)),
    GeneratedTable(
        "reference/runner-api.md", "| ending | meaning | verdict |", partial(members, Ending, verdicts=VERDICTS)
    ),
    GeneratedTable("reference/runner-api.md", "| tag | the case |", partial(members, ConformanceTag, as_code=True)),
    GeneratedTable(
        "reference/causes.md",
        "| cause | meaning | verdict |",
        partial(members, Cause, verdicts={cause: verdict_of(cause) for cause in Cause}),
    ),
    GeneratedTable("reference/causes.md", "| result | meaning |", partial(members, Repetition, as_code=True)),
    GeneratedTable(
        "reference/runner-api.md", "| status of a job | meaning |", partial(members, JobStatus, as_code=True)
    ),
    GeneratedTable("reference/rest.md", "| text | reason |", partial(members, Missing, as_code=True)),
    GeneratedTable(
        COMMAND_LINE,
        "| `--fail-on` | exit with code 1 if there is this change |",
        partial(members, ComparisonGate, as_code=True),
    ),
    GeneratedTable("explanation/security.md", "| role | does |", partial(members, Role)),
    GeneratedTable("how-to/publish-an-atlas.md", "| mark | meaning |", partial(members, Mark)),
    GeneratedTable("explanation/timing.md", "| policy | meaning |", partial(members, TimingPolicy, as_code=True)),
    GeneratedTable("explanation/verdicts.md", "| rule | what it counts |", counting_rules),
    GeneratedTable("reference/conformance.md", "| id | sentence | level |", clauses),
    GeneratedTable("explanation/verdicts.md", "| `unproven` | meaning |", reasons_without_proof),
    GeneratedTable("reference/runner-api.md", "| members | allowed values | if left out |", limits),
    GeneratedTable("reference/settings.md", "| name | default | limits | beyond it |", bounds),
    GeneratedTable("reference/settings.md", "| name | default | time |", partial(times, Times), ("## Times",)),
    GeneratedTable(
        "reference/settings.md", "| name | default | time |", partial(times, CheckTimes), ("## Times of a check",)
    ),
    *command_tables(),
    *(GeneratedParagraph("reference/database.md", (f"## {view.name}",), view.comment) for view in VIEWS),
    *(
        GeneratedTable(
            "reference/database.md", "| column | type | meaning |", partial(columns, view), (f"## {view.name}",)
        )
        for view in VIEWS
    ),
)


def main(arguments: list[str]) -> int:
    outdated_pages: list[str] = []
    for part in PARTS:
        page = DOCS / part.page
        text = page.read_text()
        current = part.rewrite(text)
        if current != text:
            outdated_pages.append(part.page)
            if "--check" not in arguments:
                page.write_text(current)
    for name in outdated_pages:
        print(f"docs/{name} " + ("differs from the code: run make docs" if "--check" in arguments else "written"))
    return 1 if outdated_pages and "--check" in arguments else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
