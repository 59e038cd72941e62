"""The command line ``portolan``. Every error is one line on stderr with exit code 2."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from coordinator.cli.lazy_command import LazyGroup
from coordinator.cli.system_complaints import system_complaint
from coordinator.errors import PortolanError
from protocol.redaction import redact
from protocol.terminal import terminal_streams

PROGRAM = "portolan"
"""The program's name in help and completion, no matter how Python was started."""
INTERRUPTED = 130


class Commands(LazyGroup):
    """All top-level commands, each with the first paragraph of its help. A test checks that this paragraph is also the
    first one of the command's docstring."""

    places = (
        ("up", "up:up", "Start the database, the coordinator and the runners of this machine; Ctrl-C stops all."),
        (
            "serve",
            "serve:serve",
            "Run only the coordinator, with the database of $PORTOLAN_DATABASE_URL. Starts no runners.",
        ),
        (
            "assess",
            "assess_command:assess",
            "Report which calls of your code fail, are wrong, fall back to the host or are slow on a target.",
        ),
        (
            "can-i",
            "can_i_command:can_i",
            "Say whether a function works on a target: yes, no, it depends, or unknown; with the cases that show it.",
        ),
        (
            "evidence",
            "assess_command:write_evidence",
            "Write the evidence about each function on each target to a file, from bundles or from a coordinator.",
        ),
        ("publish", "publish_command:publish", "Write the atlas as a static site for any web server."),
        ("submit", "submit_command:submit", "Submit a campaign and print its number."),
        ("status", "campaign_commands:status", "List the latest campaigns, or describe one."),
        (
            "results",
            "results_command:results",
            "Show or export the outcomes of a campaign, with the command that repeats each failure.",
        ),
        (
            "operations",
            "operations_command:operations",
            "List operations that fell back, failed or lack a lowering. With OPERATION, list the cases that used it.",
        ),
        (
            "table",
            "report_commands:table",
            "Show one of the study's tables for a campaign. Without TABLE, list all tables.",
        ),
        (
            "figure",
            "report_commands:figure",
            "Draw one of the study's figures for a campaign. Without FIGURE, list all figures.",
        ),
        (
            "report",
            "report_commands:report",
            "Write a campaign's report: one HTML file that needs nothing else, to send to a colleague.",
        ),
        (
            "compare",
            "comparison_commands:compare",
            "List the cases that changed from A to B, and the functions that became slower or faster.",
        ),
        (
            "history",
            "comparison_commands:history",
            "Show one function on every target of every campaign, newest first.",
        ),
        (
            "login",
            "access_commands:login",
            "Store a token for a coordinator in a file that only you can read. On a terminal, it asks for the token.",
        ),
        (
            "logout",
            "access_commands:logout",
            "Delete the stored token for a coordinator. The token stays valid until it expires or is revoked.",
        ),
        ("whoami", "access_commands:whoami", "Show the name and role that the coordinator sees for this command."),
        (
            "audit",
            "access_commands:audit",
            "List changes and refused requests, newest first: who sent them, what they did, when, and from where.",
        ),
        ("cancel", "campaign_commands:cancel", "Cancel the jobs that are not done yet. Stored outcomes stay."),
        ("delete", "deletion_commands:app", "Delete campaigns and suites permanently."),
        (
            "import",
            "campaign_commands:import_",
            "Store a bundle as a campaign, unless the same bundle is already stored.",
        ),
        (
            "reclassify",
            "cause_commands:reclassify",
            "Apply the current rules for causes to the stored outcomes of one campaign, or of all campaigns.",
        ),
        (
            "override",
            "cause_commands:override",
            "Set by hand the cause of a case on a target, for all runs of the case that did not pass. "
            "The name of your token is stored with the cause.",
        ),
        (
            "demo",
            "demo:demo",
            "Set up this machine's frameworks, chart every function on its targets, show the matrix, and stop.",
        ),
        ("token", "access_commands:app", "Tokens and their roles."),
        ("signer", "signer_commands:app", "Keys whose signatures of bundles are trusted."),
        (
            "catalogue",
            "catalogue_commands:app",
            "Public functions of frameworks: their use, samples of them, and the share that is charted.",
        ),
        ("runner", "runner_commands:app", "The runners that the coordinator knows."),
        ("fleet", "fleet_commands:app", "Containers of runners on this host."),
        ("db", "database_commands:app", "The database."),
    )


app = typer.Typer(
    name=PROGRAM,
    cls=Commands,
    help="Charts which functions of an ML framework reach which accelerators, and how well.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(is_asked_for: bool) -> None:
    if is_asked_for:
        from importlib.metadata import version

        print(f"portolan {version('portolan')}")
        raise typer.Exit


@app.callback()
def _options_of_all(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # Almost all output contains names and texts of runners, so control characters are escaped.
    with terminal_streams():
        return _run(arguments)


def _run(arguments: list[str] | None) -> int:
    try:
        code = app(arguments, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except TyperException as error:
        if "Usage:" in (text := _text_of(error)):
            print(text)  # no command was given: the help is the answer
        else:
            _complain(f"{text.rstrip('.')}: see {_command_of(error)} --help")
        return 2
    except PortolanError as error:
        _complain(str(error))
        return error.exit_code
    except UnicodeEncodeError as error:
        undecodable = error.object[error.start : error.end]
        _complain(f"{undecodable!a} is not valid text: write every argument in UTF-8")
        return 2
    except BrokenPipeError:
        # The reader closed the pipe; Python must not report it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _complain(system_complaint(error))
        return 2
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED


def _text_of(error: TyperException) -> str:
    """Return the message of a usage error. If pydantic could not parse a value, replace its message with Portolan's
    own."""
    # Imported here because only usage errors need it.
    from pydantic import ValidationError

    from protocol.fault_words import words_of

    if isinstance(error.__cause__, ValidationError):
        error.message = words_of(error.__cause__.errors()[0])
    return error.format_message()


def _command_of(error: TyperException) -> str:
    """The name of the command whose arguments are wrong; ``portolan`` if there is no such command."""
    context: typer.Context | None = getattr(error, "ctx", None)
    return context.command_path if context else PROGRAM


def _complain(message: str) -> None:
    print(f"portolan: {redact(' '.join(message.split()))}", file=sys.stderr)
