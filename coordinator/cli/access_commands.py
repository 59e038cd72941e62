"""``portolan login``, ``logout``, ``whoami``, ``token`` and ``audit``: identity and access control."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from coordinator.access.models import WhoAmI
from coordinator.access.roles import Role
from coordinator.access.tokens import MOST_TOKEN_DAYS, TOKEN_DAYS
from coordinator.cli.credentials import Origin, TokenStore
from coordinator.cli.directory import DataDirectory, find_url
from coordinator.cli.output import print_columns, print_json
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import AsJson, DataDir, connect, with_client
from coordinator.errors import CoordinatorError

app = typer.Typer(no_args_is_help=True, help="Tokens and their roles.")

Address = Annotated[
    str | None,
    typer.Argument(
        metavar="[URL]", help="Address of the coordinator; default: $PORTOLAN_URL if set, otherwise the local one."
    ),
]


def login(
    address: Address = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token; without it the token is read from stdin.")
    ] = None,
    link: Annotated[
        bool, typer.Option("--link", help="Store nothing, and print a link that signs a browser in once.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Store a token for a coordinator in a file that only you can read. On a terminal, it asks for the token."""
    if link:
        with connect(address, data_dir) as client:
            print(f"{client.url}{client.login_link().path}")
        return
    url = find_url(address, DataDirectory(data_dir))
    origin = _origin(url)
    token = _read_token(token_file, url)
    with Client(url, token) as client:
        caller = client.whoami()
    if caller.kind != "token":
        raise CoordinatorError(f"the coordinator at {url} does not use tokens: there is nothing to store")
    file = TokenStore().keep(origin, token)
    print(f"{_describe(caller)} at {origin}; the token is in {file}")


def logout(address: Address = None, data_dir: DataDir = None) -> None:
    """Delete the stored token for a coordinator. The token stays valid until it expires or is revoked."""
    origin = _origin(find_url(address, DataDirectory(data_dir)))
    print(f"{origin}: forgotten" if TokenStore().forget(origin) else f"{origin}: no token is stored")


@with_client
def whoami(client: Client, as_json: AsJson = False) -> None:
    """Show the name and role that the coordinator sees for this command."""
    caller = client.whoami()
    if as_json:
        print_json(caller)
    else:
        print(f"{_describe(caller)} at {client.url}")


@app.command("create")
@with_client
def create(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the person or program that gets the token.")],
    role: Annotated[
        Role, typer.Option(help="A viewer reads, a submitter also submits, an operator also manages runners.")
    ],
    days: Annotated[int, typer.Option(min=1, max=MOST_TOKEN_DAYS, help="Days until the token expires.")] = TOKEN_DAYS,
) -> None:
    """Create a token and print it once. Only the token goes to stdout."""
    token = client.create_token({"name": name, "role": role, "expires_in_days": days})
    print(f"token {token.id}, {token.name}, {token.role}, until {token.expires_at:%Y-%m-%d}:", file=sys.stderr)
    print(token.secret)


@app.command("list")
@with_client
def list_tokens(client: Client, as_json: AsJson = False) -> None:
    """List the tokens with their roles and last use. The secrets of tokens are not stored."""
    tokens = client.tokens()
    if as_json:
        print_json(tokens)
        return
    print_columns(
        ("id", "name", "role", "token", "expires", "last used", "revoked"),
        [
            (
                *(str(token.id), token.name, token.role, f"{token.prefix}_…", f"{token.expires_at:%Y-%m-%d}"),
                f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never",
                f"{token.revoked_at:%Y-%m-%d} by {token.revoked_by}" if token.revoked_at else "",
            )
            for token in tokens
        ],
        empty="there is no token yet: create one with `portolan token create NAME --role submitter`",
    )


@app.command("revoke")
@with_client
def revoke(
    client: Client,
    token_id: Annotated[
        int, typer.Argument(metavar="ID", min=1, help="Number of the token, as `portolan token list` shows it.")
    ],
) -> None:
    """Revoke a token and end its sessions."""
    client.revoke_token(token_id)
    print(f"token {token_id} revoked")


@with_client
def audit(
    client: Client,
    who: Annotated[str | None, typer.Option(help="Only entries of callers with this name.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of entries; the newest are listed.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List changes and refused requests, newest first: who sent them, what they did, when, and from where."""
    entries = client.audit(who, limit).entries
    if as_json:
        print_json(entries)
        return
    print_columns(
        ("when", "who", "from", "what", "status", "led to"),
        [
            (
                f"{entry.at:%Y-%m-%d %H:%M:%S}",
                entry.caller,
                *(entry.address, f"{entry.method} {entry.path}", str(entry.status), entry.detail or ""),
            )
            for entry in entries
        ],
        empty=f"no changes are recorded{f' by {who}: check the name' if who else ''}",
    )


def _origin(url: str) -> Origin:
    try:
        return Origin.of(url)
    except ValueError as error:
        raise CoordinatorError(f"'{url}' is not a URL: write it like https://portolan.example.org") from error


def _read_token(file: Path | None, url: str) -> str:
    if file is not None:
        token = file.read_text(errors="replace").strip()
    elif sys.stdin.isatty():
        token = getpass.getpass(f"token for {url}: ").strip()
    else:
        token = sys.stdin.read().strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise CoordinatorError("this is not a token: give the single word that `portolan token create` printed")
    return token


def _describe(caller: WhoAmI) -> str:
    until = f", until {caller.expires_at:%Y-%m-%d}" if caller.expires_at else ""
    return f"{caller.name}, {caller.role or 'no role'}{until}"
