"""``portolan publish --signers`` publishes only bundles that a trusted key signed, and names the signer."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from coordinator.bundles.signature import NAMESPACE
from tests import bundles
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan

LAB = "lab@example.org"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    lines = bundles.lines_of(bundles.make(folder / "made.bundle", runs=1).read_bytes())
    lines[0]["runner"]["device"] = "xla"
    file = folder / "hazards.bundle"
    file.write_bytes(bundles.sealed(lines))
    return file


class Lab:
    """A folder with a bundle, a key, and a file of allowed signers that lists the key."""

    def __init__(self, folder: Path, made: Path) -> None:
        self.folder = folder
        self.bundle = folder / "hazards.bundle"
        shutil.copy(made, self.bundle)
        self.key = self.make_key("lab")
        self.allowed = folder / "allowed_signers"
        self.allowed.write_text(f"{LAB} {self.public(self.key)}")
        self.portolan = Portolan(folder / "data")

    def make_key(self, name: str) -> Path:
        return bundles.make_key(self.folder, name)

    def public(self, key: Path) -> str:
        return key.with_suffix(".pub").read_text()

    def sign(self, key: Path, namespace: str = NAMESPACE) -> None:
        bundles.sign(self.bundle, key, namespace)

    def refused(self, *options: str) -> str:
        said = self.portolan.refused("publish", str(self.folder / "site"), str(self.bundle), *self._options(options))
        assert not (self.folder / "site").exists()
        return said

    def publish(self, *options: str) -> Path:
        output = self.portolan.ask("publish", str(self.folder / "site"), str(self.bundle), *self._options(options))
        assert "the evidence is from a bundle\n" in output
        return self.folder / "site"

    def _options(self, options: tuple[str, ...]) -> tuple[str, ...]:
        return ("--signers", str(self.allowed), *options)


@pytest.fixture
def lab(tmp_path: Path, made: Path) -> Lab:
    return Lab(tmp_path, made)


def test_the_pages_and_the_data_name_who_signed_the_bundle(lab: Lab) -> None:
    lab.sign(lab.key)
    site = lab.publish()
    document = json.loads((site / "data" / "portability-hazards.json").read_text())
    assert [chart["signed_by"] for target in document["targets"] for chart in target["charts"]] == [LAB]
    assert f"signed by {LAB}" in (site / "functions" / "hazards.add.html").read_text()


def test_a_bundle_without_a_signature_is_refused(lab: Lab) -> None:
    assert "is not signed" in lab.refused()


def test_a_bundle_that_was_changed_after_it_was_signed_is_refused(lab: Lab) -> None:
    lab.sign(lab.key)
    lines = bundles.lines_of(lab.bundle.read_bytes())
    lines[0]["runner"]["fingerprint"]["hardware"] = "TPU v9"
    lab.bundle.write_bytes(bundles.sealed(lines))
    assert f"no valid signature of {LAB}" in lab.refused()


def test_a_key_that_is_not_listed_is_refused(lab: Lab) -> None:
    lab.sign(lab.make_key("stranger"))
    assert "signed by a key that" in lab.refused()


def test_a_signature_for_another_purpose_is_refused(lab: Lab) -> None:
    lab.sign(lab.key, "git")
    assert f"no valid signature of {LAB}" in lab.refused()


def test_a_revoked_key_is_refused(lab: Lab) -> None:
    lab.sign(lab.key)
    revoked = lab.folder / "revoked_keys"
    revoked.write_text(lab.public(lab.make_key("another")))
    lab.publish("--revoked", str(revoked))
    shutil.rmtree(lab.folder / "site")
    revoked.write_text(lab.public(lab.key))
    assert f"no valid signature of {LAB}" in lab.refused("--revoked", str(revoked))


def test_options_of_signatures_that_cannot_hold_are_refused(lab: Lab) -> None:
    place = str(lab.folder / "site")
    assert "--signers applies to bundles" in lab.portolan.refused("publish", place, "--signers", str(lab.allowed))
    assert "--revoked needs --signers" in lab.portolan.refused("publish", place, "--revoked", str(lab.allowed))
    lab.allowed.unlink()
    assert "does not exist: check its name" in lab.refused()


def test_an_operator_trusts_lists_and_revokes_keys_and_an_import_says_whose_the_bundle_is(
    lab: Lab, coordinator: CoordinatorProcess
) -> None:
    portolan = Portolan(lab.folder / "data", PORTOLAN_URL=coordinator.url)
    assert "no key is trusted yet" in portolan.ask("signer", "list")
    lab.sign(lab.key)
    assert "portolan signer add NAME KEY.pub" in portolan.refused("import", str(lab.bundle))
    assert "is not a public key" in portolan.refused("signer", "add", LAB, str(lab.key))
    fingerprint = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(lab.key)], check=True, capture_output=True, text=True
    ).stdout.split()[1]
    said = portolan.ask("signer", "add", LAB, str(lab.key.with_suffix(".pub")))
    assert said == f"signer 1, {LAB}: {fingerprint} is trusted\n"
    signature = lab.bundle.with_name(f"{lab.bundle.name}.sig")
    signature.rename(lab.folder / "away")
    assert portolan.ask("import", str(lab.bundle)).endswith(", unsigned\n")
    (lab.folder / "away").rename(signature)
    assert portolan.ask("import", str(lab.bundle)).endswith(f", signed by {LAB}\n")
    assert portolan.ask("signer", "revoke", "1") == f"signer 1, {LAB}: revoked\n"
    assert " by admin" in portolan.ask("signer", "list")
    assert "that was revoked on" in portolan.refused("import", str(lab.bundle))
    signature.write_text("no signature")
    assert "is not a signature of ssh-keygen" in portolan.refused("import", str(lab.bundle))
