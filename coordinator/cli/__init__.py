"""The command line ``portolan``: every error is one line on stderr and exit code 2."""

from __future__ import annotations

import os
import sys

import typer
from typer.exceptions import TyperException

from coordinator.cli import (
    access_commands,
    campaign_commands,
    catalogue_commands,
    cause_commands,
    comparison_commands,
    database_commands,
    demo,
    fleet_commands,
    report_commands,
    results_command,
    runner_commands,
    serve,
    up,
)
from coordinator.errors import PortolanError
from protocol.redaction import redacted
from protocol.terminal import terminal_streams

INTERRUPTED = 130

app = typer.Typer(
    name="portolan",
    help="Charts which functions of an ML framework reach which accelerators, and how well.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (
    *(up.up, serve.serve, campaign_commands.submit, campaign_commands.status, results_command.results),
    *(report_commands.table, report_commands.figure, report_commands.report),
    *(comparison_commands.compare, comparison_commands.history),
    *(access_commands.login, access_commands.logout, access_commands.whoami, access_commands.audit),
    *(campaign_commands.cancel, campaign_commands.import_, cause_commands.reclassify, cause_commands.override),
):
    app.command(command.__name__.rstrip("_"))(command)
app.add_typer(access_commands.app, name="token")
app.add_typer(catalogue_commands.app, name="catalogue")
app.add_typer(runner_commands.app, name="runner")
app.add_typer(fleet_commands.app, name="fleet")
app.add_typer(database_commands.app, name="db")
app.command("demo")(demo.demo)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    # Names and texts of runners stand in almost all that is printed.
    with terminal_streams():
        return _run(arguments)


def _run(arguments: list[str] | None) -> int:
    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except TyperException as error:
        if "Usage:" in (text := error.format_message()):
            print(text)  # no command was given: the help is the answer
        else:
            _complain(f"{text.rstrip('.')}: see {_command_of(error)} --help")
        return 2
    except PortolanError as error:
        _complain(str(error))
        return error.exit_code
    except UnicodeEncodeError as error:
        given = error.object[error.start : error.end]
        _complain(f"{given!a} is no text: write every argument in UTF-8")
        return 2
    except BrokenPipeError:
        # The reader has seen enough; Python must not complain about it once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _complain(f"{(error.strerror or str(error)).lower()}{where}")
        return 2
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED


def _command_of(error: TyperException) -> str:
    """The command, as it is called, that was called wrongly; portolan itself where it is not known."""
    context: typer.Context | None = getattr(error, "ctx", None)
    # The first word is how Python was called.
    words = context.command_path.split()[1:] if context else []
    return " ".join(["portolan", *words])


def _complain(message: str) -> None:
    print(f"portolan: {redacted(' '.join(message.split()))}", file=sys.stderr)
