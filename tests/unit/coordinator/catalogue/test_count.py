"""Counting the uses in a corpus: folders and archives, duplicates, an interruption, and invalid input of every kind."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from coordinator.catalogue.usage import counting
from coordinator.catalogue.usage.counting import count_corpus
from coordinator.catalogue.usage.counts import Tally, UsageCounts
from coordinator.catalogue.usage.sources import LARGEST_FILE, package_of, sources
from coordinator.catalogue.usage.state import CountState
from coordinator.errors import CatalogueError

ADD = b"import torch\ntorch.add(1, 2)\n"
MUL = b"import torch\ntorch.mul(1, 2)\n"


def counts_of(corpus: Path, state: Path | None = None) -> UsageCounts:
    with CountState(state, corpus) as count_state:
        return count_corpus(corpus, {}, count_state, processes=1)


def uses(counts: UsageCounts) -> dict[str, int]:
    return {
        name: use.resolved
        for framework_counts in counts.frameworks.values()
        for name, use in framework_counts.names.items()
    }


def tar(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def test_folders_archives_and_lines_are_read_and_duplicates_count_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(ADD)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "copy.py").write_bytes(ADD)
    (tmp_path / "b" / "plain.py").write_bytes(b"print(1)")
    with zipfile.ZipFile(tmp_path / "Some_Package-1.2-py3-none-any.whl", "w") as archive:
        archive.writestr("m.py", MUL)
        archive.writestr("data.bin", b"torch")
    tar(tmp_path / "t.tar.gz", {"x/n.py": b"import torch\ntorch.sub\n", "x/copy.py": MUL})
    with gzip.open(tmp_path / "l.jsonl.gz", "wt") as stream:
        stream.write(json.dumps({"content": "import jax\njax.jit(f)"}) + "\n")
    counts = counts_of(tmp_path)
    assert uses(counts) == {"torch.add": 1, "torch.mul": 1, "torch.sub": 1, "jax.jit": 1}
    assert counts.packages == {"some-package 1.2": 1, "t.tar.gz": 1, "l.jsonl.gz": 1}
    assert (counts.files.seen, counts.files.duplicates, counts.files.without_framework) == (7, 2, 1)


def test_bad_input_is_counted_by_its_reason_and_costs_itself(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_bytes(ADD)
    (tmp_path / "link.py").symlink_to(tmp_path / "good.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "nul.py").write_bytes(b"import torch\0")
    (tmp_path / "two.py").write_bytes(b"import torch\nprint 'torch'\n")
    (tmp_path / "odd.py").write_bytes(b"# coding: klingon\nimport torch\n")
    (tmp_path / "latin.py").write_bytes(b"# coding: latin-1\nimport torch\ntorch.sin('\xe9')\n")
    (tmp_path / "broken.py").write_bytes(b"import torch\ndef (:\n")
    (tmp_path / "deep.py").write_bytes(b"import torch\n" + b"(" * 50_000)
    (tmp_path / "chain.py").write_bytes(b"import torch\nx = " + b"+".join([b"1"] * 50_000))
    with (tmp_path / "large.py").open("wb") as stream:
        stream.truncate(100_000_000)
    tar(tmp_path / "whole.tar.gz", {"m.py": MUL})
    (tmp_path / "cut.tar.gz").write_bytes((tmp_path / "whole.tar.gz").read_bytes()[:-40])
    (tmp_path / "no.zip").write_bytes(b"this is none")
    (tmp_path / "lines.jsonl").write_bytes(b'{"content": 3}\nnonsense\n' + b"[" * 100_000 + b"\n")
    counts = counts_of(tmp_path)
    assert uses(counts) == {"torch.add": 1, "torch.sin": 1, "torch.mul": 1}
    refusals = dict(counts.files.refused)
    assert refusals.pop("a link") == 1
    assert refusals.pop("no plain file") == 1
    assert refusals.pop("too large") == 1
    assert refusals.pop("Python 2") == 1
    assert refusals.pop("NUL or bad encoding") == 2
    assert refusals.pop("nested too deep") == 2
    assert refusals.pop("no Python 3") == 1
    assert refusals.pop("a line without a source") == 1
    assert refusals.pop("no JSON") == 2
    assert sum(refusals.values()) == 2
    assert all(reason.startswith("damaged archive") for reason in refusals)
    assert counts.files.examples["Python 2"] == ["two.py"]


def test_an_archive_that_expands_too_far_is_left(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.tar.gz"
    with tarfile.open(bomb, "w:gz") as archive:
        info = tarfile.TarInfo("zeros.bin")
        info.size = 600_000_000
        with open("/dev/zero", "rb") as zeros:
            archive.addfile(info, zeros)  # type: ignore[arg-type]
    assert [source.refusal for source in sources(bomb)] == ["archive expands too far"]


def test_a_member_is_read_up_to_the_limit_whatever_its_header_says(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.py", bytes(LARGEST_FILE + 1))
    (source,) = sources(tmp_path / "b.zip")
    assert (source.refusal, source.content) == ("too large", b"")


def test_an_interrupted_count_goes_on_and_comes_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(30):
        (corpus / f"{number:02}.py").write_bytes(ADD + b"#" * (number // 2))
    whole = counts_of(corpus)
    monkeypatch.setattr(counting, "BATCH_FILES", 4)

    class _Stop(Exception):
        pass

    def stop(tally: Tally) -> None:
        raise _Stop

    state = tmp_path / "state"
    with CountState(state, corpus) as count_state, pytest.raises(_Stop):
        count_corpus(corpus, {}, count_state, processes=1, report=stop)
    with CountState(state, corpus) as count_state:
        assert 0 < count_state.position < 30
        assert count_corpus(corpus, {}, count_state, processes=1) == whole
        count_state.forget()
    assert list(tmp_path.iterdir()) == [corpus]
    assert (whole.files.counted, whole.files.duplicates) == (15, 15)


def test_a_state_of_another_corpus_or_of_nothing_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with CountState(state, tmp_path / "a"):
        pass
    with pytest.raises(CatalogueError, match="belongs to another corpus"):
        CountState(state, tmp_path / "b")
    state.write_bytes(b"no database at all, and long enough to be read as one" * 100)
    with pytest.raises(CatalogueError, match="cannot hold the state"):
        CountState(state, tmp_path / "a")


def test_the_order_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "c.zip"):
        (tmp_path / name).write_bytes(ADD)
    assert [source.name for source in sources(tmp_path)] == ["a.py", "b.py", "c.zip"]


@pytest.mark.parametrize(
    ("archive", "package"),
    [
        ("tf_models_official-2.19.1-py2.py3-none-any.whl", "tf-models-official 2.19.1"),
        ("trax-1.4.1.tar.gz", "trax 1.4.1"),
        ("everything.zip", "everything.zip"),
    ],
)
def test_a_package_is_named_by_its_archive(archive: str, package: str) -> None:
    assert package_of(archive) == package


def test_what_is_no_corpus_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(CatalogueError, match="is not a corpus"):
        list(sources(tmp_path / "a.txt"))
    with pytest.raises(CatalogueError, match="does not exist"):
        list(sources(tmp_path / "b"))
