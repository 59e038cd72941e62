"""``portolan signer``: the keys whose signatures of bundles the coordinator trusts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coordinator.cli.output import print_columns, print_json
from coordinator.cli.rest_client import Client
from coordinator.cli.shared_options import AsJson, with_client
from coordinator.errors import BundleError

app = typer.Typer(no_args_is_help=True, help="Keys whose signatures of bundles are trusted.")


@app.command("add")
@with_client
def add(
    client: Client,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the signer, shown beside the evidence; such as lab@example.org."),
    ],
    key: Annotated[Path, typer.Argument(metavar="KEY.pub", help="A file with the public SSH key.")],
) -> None:
    """From now on, trust bundles that this key signed."""
    lines = key.read_text(errors="replace").split("\n")
    if not lines[0].strip() or any(map(str.strip, lines[1:])):
        raise BundleError(f"{key} is not a public key: name a file of one line, such as id_ed25519.pub")
    signer = client.add_signer(name, lines[0].strip())
    print(f"signer {signer.id}, {signer.name}: {signer.fingerprint} is trusted")


@app.command("list")
@with_client
def list_signers(client: Client, as_json: AsJson = False) -> None:
    """List the keys that are or were trusted, newest first."""
    signers = client.signers()
    if as_json:
        print_json(signers)
        return
    print_columns(
        ("id", "name", "key", "added", "revoked"),
        [
            (
                *(str(signer.id), signer.name, signer.fingerprint),
                f"{signer.created_at:%Y-%m-%d} by {signer.added_by}",
                f"{signer.revoked_at:%Y-%m-%d} by {signer.revoked_by}" if signer.revoked_at else "",
            )
            for signer in signers
        ],
        empty="no key is trusted yet: add one with `portolan signer add NAME KEY.pub`",
    )


@app.command("revoke")
@with_client
def revoke(
    client: Client,
    signer_id: Annotated[
        int, typer.Argument(metavar="ID", min=1, help="Number of the key, as `portolan signer list` shows it.")
    ],
) -> None:
    """Revoke a key. Bundles that it signed are refused from now on, and stored ones count as unsigned."""
    signer = client.revoke_signer(signer_id)
    print(f"signer {signer.id}, {signer.name}: revoked")
