"""Publishes a site in a folder. The files get their final names only when all of them are written. Files in the folder
that no publication wrote are kept."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from secrets import token_hex

from pydantic import BaseModel, ValidationError

from coordinator.atlas.portability import Portability
from coordinator.atlas.site import SiteFile
from coordinator.errors import PublicationError

MANIFEST = "portolan-site.json"


class Manifest(BaseModel):
    """The list of the files of a publication. The next publication may replace these files."""

    type: str = "portolan-site"
    files: list[str]


def published_before(folder: Path) -> list[Portability]:
    """Read the data of the publication in ``folder``. Empty if there is no publication, or if its data have another
    format."""
    documents = []
    for path in sorted((folder / "data").glob("portability-*.json")):
        try:
            documents.append(Portability.model_validate_json(path.read_bytes()))
        except (ValidationError, OSError):
            continue
    return documents


def check_folder(folder: Path) -> Manifest | None:
    """Return the manifest of the publication in the folder; None if the folder has no publication yet.

    Raises ``PublicationError`` for a folder that contains other files and no publication, and for a mount point,
    because publishing replaces the folder and a mount point cannot be replaced.
    """
    try:
        folder.stat()  # unlike exists(), raises for links that lead in a circle
    except FileNotFoundError:
        return None
    if not folder.is_dir():
        raise PublicationError(f"{folder} is a file: name a folder")
    if folder.is_mount():
        raise PublicationError(f"a disk is mounted at {folder}: name a folder on it, such as {folder / 'atlas'}")
    if not any(folder.iterdir()):
        return None
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError):
        raise PublicationError(
            f"{folder} has files that Portolan did not publish: name another folder, or an empty one"
        ) from None


def publish(files: Iterable[SiteFile], folder: Path) -> int:
    """Replace the site in ``folder`` with these files, and return the number of the files.

    Files in ``folder`` that no publication wrote are kept. If anything fails, the folder is not changed.
    """
    before = check_folder(folder)
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = folder.with_name(f"{folder.name}.{token_hex(4)}.part")
    try:
        paths = list(_write(files, new))
        manifest = Manifest(files=sorted([*paths, MANIFEST]))
        (new / MANIFEST).write_text(manifest.model_dump_json(indent=1))
        if before is not None:
            _keep_others(folder, new, frozenset(before.files))
        _replace(folder, new)
    except OSError as error:
        if error.errno:
            error.filename = _public_name(error, folder, new)
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return len(paths)


def _public_name(error: OSError, folder: Path, new: Path) -> str:
    """Return the path to name in a message about the error. For a file in the temporary folder ``new``, the path is the
    final folder. An error without a file, such as a full disk, has this path too."""
    if error.filename == str(new) and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return str(folder.parent)  # the new folder could not be created in its parent
    if error.filename is None or Path(error.filename).is_relative_to(new):
        return str(folder)
    return str(error.filename)


def _write(files: Iterable[SiteFile], folder: Path) -> Iterator[str]:
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        yield file.path


def _keep_others(old: Path, new: Path, names: frozenset[str]) -> None:
    """Copy the files and empty folders that no publication wrote from the old folder to the new one."""
    for path in sorted(old.rglob("*")):
        name = path.relative_to(old).as_posix()
        is_folder = path.is_dir() and not path.is_symlink()
        if name in names or (is_folder and any(path.iterdir())):
            continue
        target = new / name
        if is_folder and target.is_dir():
            continue
        if (place := _place_in_use(target)) is not None:
            own = old / place.relative_to(new)
            raise PublicationError(
                f"{own} was not written by Portolan, and the new site has a file or folder of this name: "
                f"move {own} to another folder"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        if is_folder:
            target.mkdir()
        elif path.is_file() or path.is_symlink():
            shutil.copy2(path, target, follow_symlinks=False)
        else:
            raise PublicationError(f"{path} is neither a file nor a folder: move it to another folder")


def _place_in_use(path: Path) -> Path | None:
    """Return the path itself if it exists, or a parent of the path if this parent is a file. Return None if the path
    can be created."""
    if path.exists():
        return path
    return next((parent for parent in path.parents if parent.is_file()), None)


def _replace(folder: Path, new: Path) -> None:
    if not folder.exists():
        new.rename(folder)
        return
    new.chmod(folder.stat().st_mode & 0o7777)
    old = folder.with_name(f"{folder.name}.{token_hex(4)}.old")
    folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
