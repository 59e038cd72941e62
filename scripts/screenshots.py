"""Takes pictures of pages in desktop and phone windows, in light and dark mode. ``make screenshots`` makes the README's
pictures with this script.

The tests use the same views of every page. As a command, this script starts an instance in a separate folder, charts a
few functions of the targets, and writes the desktop views to docs/images/. With ``--data-dir`` it uses the newest
campaign of an existing instance, and charts nothing. The picture of the atlas is always of a new instance, which shows
the evidence that ships. This script runs in ``.venv``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Page, ViewportSize

from scripts import chromium

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PORTOLAN = ROOT / ".venv" / "bin" / "portolan"
TARGETS = "tensorflow/cpu tensorflow/xla jax/cpu"
FUNCTIONS = ("jax.scipy.*", "jax.lax.se*", "tf.math.*", "tf.linalg.*", "tf.image.*", "tf.io.*", "tf.lookup.*")
WINDOWS: dict[str, ViewportSize] = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PAGES = {
    "atlas": "/",
    "matrix": "/campaigns/{campaign}/matrix?q=fails:xla",
    "figures": "/campaigns/{campaign}/figures",
}
"""The pages in the README."""
BEGINS_AT = {"atlas": "#tensorflow", "matrix": ".matrix", "figures": "figure"}
"""The part of the page with which the picture begins."""
MOST_BYTES = 200_000
COLORS = (256, 128, 64, 32)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data-dir", type=Path, help="of an instance that has charted something")
    options.add_argument("--targets", default=TARGETS, help="what to chart instead")
    options_of_command = options.parse_args()
    # A signal must end the blocks below normally, because their exits stop the instance.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    path = chromium.find()
    if path is None:
        sys.exit(f"screenshots: {chromium.MISSING}")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with _folder(None) as folder, _instance(folder, "") as url:
        _take_all(path, url, ["atlas"])
    with _folder(options_of_command.data_dir) as folder, _instance(folder, options_of_command.targets) as url:
        if options_of_command.data_dir is None:
            print("screenshots: charting", options_of_command.targets, flush=True)
            _portolan(
                folder,
                "submit",
                "--wait",
                "--name",
                "A few functions",
                "--runs",
                "2",
                "--functions",
                " ".join(FUNCTIONS),
            )
        _take_all(path, url, ["matrix", "figures"], _newest_campaign(url))


def _take_all(chromium_path: str, url: str, names: Iterable[str], campaign: int | None = None) -> None:
    with chromium.launch(chromium_path) as browser:
        page = browser.new_page(device_scale_factor=1.5)
        for _, scheme in views(page, ["desk"]):
            for name in names:
                address = url + PAGES[name].format(campaign=campaign)
                _take(page, address, BEGINS_AT[name], IMAGES / f"{name}-{scheme}.png")


def views(page: Page, windows: Iterable[str] = WINDOWS) -> Iterator[tuple[str, str]]:
    """Show a page in each of these windows and in each color scheme. Yields the names of window and scheme."""
    for window in windows:
        page.set_viewport_size(WINDOWS[window])
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            yield window, scheme


def _newest_campaign(url: str) -> int:
    campaigns = _read(f"{url}/api/v1/campaigns?limit=1")["campaigns"]
    if not campaigns:
        sys.exit("screenshots: no campaign has been submitted in this data directory: run `portolan submit` first")
    if not campaigns[0]["counters"]["done"]:
        sys.exit("screenshots: the newest campaign has no outcome yet: wait until `portolan watch` shows outcomes")
    return int(campaigns[0]["id"])


def _take(page: Page, address: str, begins_at: str, path: Path) -> None:
    page.goto(address, wait_until="load")
    figures = page.locator("[data-figure]")
    if figures.count():
        figures.first.scroll_into_view_if_needed()
        figures.first.locator(".interactive").wait_for()
    page.evaluate("selector => document.querySelector(selector).scrollIntoView()", begins_at)
    path.write_bytes(optimize(page.screenshot()))
    print(f"screenshots: {path.relative_to(ROOT)}, {path.stat().st_size:,} bytes", flush=True)


def optimize(png: bytes) -> bytes:
    """Reduce the colors of a picture until its file is small enough."""
    for colors in COLORS:
        out = io.BytesIO()
        whole = Image.open(io.BytesIO(png)).convert("RGB")
        whole.quantize(colors, dither=Image.Dither.NONE).save(out, "png", optimize=True)
        if out.tell() <= MOST_BYTES:
            break
    return out.getvalue()


@contextlib.contextmanager
def _folder(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        if not folder.is_dir():
            sys.exit(f"screenshots: there is no data directory {folder}: name a directory that `portolan up` created")
        yield folder
        return
    temporary_folder = Path(tempfile.mkdtemp(prefix="portolan-screenshots-"))
    # PostgreSQL runs as another user, which must be able to enter the folder.
    temporary_folder.chmod(0o711)
    try:
        yield temporary_folder / "data"
    finally:
        shutil.rmtree(temporary_folder, ignore_errors=True)


@contextlib.contextmanager
def _instance(folder: Path, targets: str) -> Iterator[str]:
    """Run ``portolan up``, and yield its address when everything is ready."""
    command = [str(PORTOLAN), "up", "--data-dir", str(folder), "--port", "0", "--targets", targets]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        url = None
        for line in process.stdout:
            print(line, end="", flush=True)
            if line.startswith("portolan "):
                url = line.split(" at ")[1].split()[0]
            if "Ctrl-C" in line:
                break
        if url is None:
            sys.exit("screenshots: the instance did not start: correct the reason above, and repeat the command")
        yield url
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate()


def _portolan(folder: Path, *arguments: str) -> None:
    completed_process = subprocess.run(
        [str(PORTOLAN), *arguments, "--data-dir", str(folder)], env={**os.environ}, check=False
    )
    if completed_process.returncode != 0:
        sys.exit(
            f"screenshots: `portolan {arguments[0]}` ended with {completed_process.returncode}: "
            "correct the reason above, and repeat the command"
        )


def _read(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(address) as answer:
        content: dict[str, Any] = json.load(answer)
    return content


if __name__ == "__main__":
    main()
