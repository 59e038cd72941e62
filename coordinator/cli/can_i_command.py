"""``portolan can-i`` says whether a function works on a target, in one word and with the cases that show it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from coordinator.assess.answers import Question, answer
from coordinator.cli.evidence_source import find_evidence
from coordinator.cli.output import print_json
from coordinator.cli.shared_options import AsJson, DataDir, Url
from coordinator.figures.formats import plural
from coordinator.targets.selectors import Selector

CODES = {"yes": 0, "no": 1, "it depends": 3, "unknown": 3}
"""The exit code for each answer."""


def can_i(
    function: Annotated[
        str, typer.Argument(metavar="FUNCTION", help="The function's public dotted name: torch.multinomial.")
    ],
    on: Annotated[str, typer.Option("--on", metavar="TARGET", help="The target, such as torch/xla.")],
    dtype: Annotated[str | None, typer.Option(metavar="DTYPE", help="Only for this type, such as float16.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="A file of `portolan evidence`, or `shipped` for the evidence that ships with Portolan."),
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Say whether a function works on a target: yes, no, it depends, or unknown; with the cases that show it."""
    selector = Selector.parse(on)
    evidence = find_evidence(data, url, data_dir, selector)
    result = answer(Question(function, selector, dtype), evidence)
    if as_json:
        print_json(asdict(result))
    else:
        cases = f", by {plural(result.of, 'case')}" if result.works else ""
        print(f"{result.word}: {function} on {result.target}{cases} (evidence {evidence.origin})")
        for sentence in result.sentences:
            print(f"  {sentence}")
        if result.second_shape is not None:
            print(f"  {result.second_shape.sentence}")
    raise typer.Exit(CODES[result.word])
