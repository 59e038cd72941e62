"""``portolan publish`` writes the atlas as a folder of files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from coordinator.atlas.publication import check_folder, published_before
from coordinator.atlas.publication import publish as write_site
from coordinator.atlas.site import site_files
from coordinator.atlas.whole_atlas import whole_atlas
from coordinator.bundles.signature import Signers
from coordinator.cli.evidence_source import SHIPPED_DATA, find_evidence
from coordinator.cli.local import stoppable
from coordinator.cli.shared_options import DataDir, SignatureOptional, Url
from coordinator.errors import PublicationError
from coordinator.figures.formats import join_words, plural
from coordinator.targets.selectors import Selector
from protocol.function_names import did_you_mean


def publish(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Output folder. A site that Portolan wrote there is replaced.")
    ],
    bundles: Annotated[list[Path] | None, typer.Argument(metavar="BUNDLE…", help="Files of `portolan-runner`.")] = None,
    on: Annotated[str, typer.Option("--on", metavar="TARGET", help="Only these targets, such as torch/*.")] = "*/*",
    data: Annotated[
        Path | None,
        typer.Option(help="A file of `portolan evidence`, or `shipped` for the evidence that ships with Portolan."),
    ] = None,
    signers: Annotated[
        Path | None,
        typer.Option(help="A file of trusted keys (allowed signers). One of these keys must have signed each file."),
    ] = None,
    revoked: Annotated[Path | None, typer.Option(help="A file of keys that are no longer trusted.")] = None,
    accept_unsigned: SignatureOptional = False,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Write the atlas as a static site for any web server.

    The evidence comes from the bundles, otherwise from a coordinator. Without a coordinator, it is the evidence that
    ships with Portolan. Bundles and the file of --data are refused unless a key of --signers signed them, or --unsigned
    accepts them. The pages need no network. Only the search needs scripts.
    """
    check_folder(folder)
    selector = Selector.parse(on)
    has_files = bool(bundles) or data not in (None, SHIPPED_DATA)
    accepted_signers = _signers(has_files, signers, revoked, accept_unsigned)
    evidence = find_evidence(
        data, url, data_dir, selector, bundles or (), accepted_signers, is_completed=False, with_cpu=True
    )
    targets = tuple(target for target in evidence.targets if selector.matches(target))
    origin = _predicate(evidence.origin)
    atlas = whole_atlas(replace(evidence, targets=targets, origin=origin))
    if not atlas.frameworks:
        guess = did_you_mean(on, sorted({target.short for target in evidence.targets})) or ";"
        raise PublicationError(
            f"there is no evidence of {on} to publish{guess} chart such a target, or name another with --on"
        )
    with stoppable():  # A signal must not leave the unfinished copy of the site behind.
        files = write_site(site_files(atlas, published_before(folder)), folder)
    names = join_words([column.target for framework in atlas.frameworks for column in framework.columns])
    print(f"{folder}: {plural(files, 'file')}, {plural(atlas.functions, 'function')} on {names}")
    print(f"the evidence {origin}")
    print(f"open {folder / 'index.html'}")


def _predicate(origin: str) -> str:
    """Return the end of a sentence that begins with *the evidence*: ``is from FILE``, ``ships with Portolan``."""
    return f"is {origin}" if origin.startswith("from ") else origin


def _signers(has_files: bool, allowed_file: Path | None, revoked_file: Path | None, accept_unsigned: bool) -> Signers:
    """Return the signers whose files are accepted. Raises ``PublicationError`` for an option without effect."""
    if revoked_file is not None and allowed_file is None:
        raise PublicationError("--revoked needs --signers: name the file of the trusted keys")
    options = {"--signers": allowed_file is not None, "--unsigned": accept_unsigned}
    for option in (name for name, is_set in options.items() if is_set and not has_files):
        raise PublicationError(
            f"{option} applies only to bundles and to a file of --data: name such a file, or omit {option}"
        )
    return Signers(allowed_file, revoked_file, accept_unsigned)
