"""``portolan publish`` and ``import`` accept bundles that a trusted key signed, and name the signer.

They accept unsigned bundles only with ``--unsigned``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from coordinator.assess import evidence_file
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
        self.site = folder / "site"
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
        return self.refused_alone(str(self.bundle), "--signers", str(self.allowed), *options)

    def refused_alone(self, *arguments: str) -> str:
        """The message about a publication with these arguments only."""
        message = self.portolan.refused("publish", str(self.site), *arguments)
        assert not self.site.exists()
        return message

    def publish(self, *options: str) -> Path:
        assert f"the evidence is from a bundle, signed by {LAB}\n" in self.publish_alone(
            str(self.bundle), "--signers", str(self.allowed), *options
        )
        return self.site

    def publish_alone(self, *arguments: str) -> str:
        """The output of a publication with these arguments only."""
        return self.portolan.ask("publish", str(self.site), *arguments)

    def signers_of_the_data(self) -> set[str | None]:
        document = json.loads((self.site / "data" / "portability-hazards.json").read_text())
        return {chart["signed_by"] for target in document["targets"] for chart in target["charts"]}

    def write_evidence(self, signed_by: str | None = None) -> Path:
        """A file of evidence that names a signer."""
        file = self.folder / "evidence.json"
        self.portolan.ask("evidence", str(file), str(self.bundle))
        evidence = evidence_file.read(file.read_bytes(), "the file", "the test")
        targets = [
            replace(target, charts=tuple(replace(chart, signed_by=signed_by) for chart in target.charts))
            for target in evidence.targets
        ]
        assert evidence.made_at is not None
        file.write_bytes(evidence_file.document_of(targets, evidence.made_at))
        return file


@pytest.fixture
def lab(tmp_path: Path, made: Path) -> Lab:
    return Lab(tmp_path, made)


def test_the_pages_and_the_data_name_who_signed_the_bundle(lab: Lab) -> None:
    lab.sign(lab.key)
    site = lab.publish()
    assert lab.signers_of_the_data() == {LAB}
    assert f"signed by {LAB}" in (site / "functions" / "hazards.add.html").read_text()


def test_a_bundle_without_a_signature_is_refused_with_what_to_do(lab: Lab) -> None:
    for message in (lab.refused(), lab.refused_alone(str(lab.bundle))):
        assert message.startswith(f"portolan: {lab.bundle} is not signed: ")
        assert "ssh-keygen -Y sign -n portolan-bundle -f KEY hazards.bundle" in message
        assert "--unsigned" in message
    absent = lab.folder / "absent.bundle"
    for options in ((), ("--unsigned",)):
        assert f"there is no file {absent}" in lab.refused_alone(str(absent), *options)


def test_whoever_says_so_publishes_a_bundle_without_a_signature(lab: Lab) -> None:
    assert "the evidence is from a bundle, unsigned\n" in lab.publish_alone(str(lab.bundle), "--unsigned")
    assert lab.signers_of_the_data() == {None}
    assert "This evidence is from a bundle, unsigned;" in (lab.site / "index.html").read_text()
    assert ", unsigned." in (lab.site / "functions" / "hazards.add.html").read_text()


def test_beside_signed_bundles_those_without_a_signature_are_accepted_if_the_publisher_says_so(lab: Lab) -> None:
    unsigned_bundle = lab.folder / "unsigned.bundle"
    lines = bundles.lines_of(lab.bundle.read_bytes())
    lines[0]["runner"]["fingerprint"]["hardware"] = "TPU v9"
    unsigned_bundle.write_bytes(bundles.sealed(lines))
    lab.sign(lab.key)
    assert f"{unsigned_bundle} is not signed" in lab.refused(str(unsigned_bundle))
    output = lab.publish_alone(str(lab.bundle), str(unsigned_bundle), "--signers", str(lab.allowed), "--unsigned")
    assert f"the evidence is from 2 bundles, signed by {LAB}, partly unsigned\n" in output
    assert lab.signers_of_the_data() == {LAB, None}


def test_a_signature_is_verified_even_if_unsigned_bundles_are_accepted(lab: Lab) -> None:
    lab.sign(lab.key)
    for options in ((), ("--unsigned",)):
        assert f"{lab.bundle} is signed: name the keys that you trust with --signers" in lab.refused_alone(
            str(lab.bundle), *options
        )
    lines = bundles.lines_of(lab.bundle.read_bytes())
    lines[0]["runner"]["fingerprint"]["hardware"] = "TPU v9"
    lab.bundle.write_bytes(bundles.sealed(lines))
    assert f"no valid signature of {LAB}" in lab.refused("--unsigned")


def test_a_file_of_evidence_is_published_only_if_it_is_signed_or_the_publisher_says_so(lab: Lab) -> None:
    file = lab.write_evidence(signed_by="somebody@example.org")
    assert f"{file} is not signed" in lab.refused_alone("--data", str(file))
    output = lab.publish_alone("--data", str(file), "--unsigned")
    assert f"the evidence is from {file}, unsigned\n" in output
    # Nobody verified the name in the file.
    assert lab.signers_of_the_data() == {None}
    shutil.rmtree(lab.site)
    bundles.sign(file, lab.make_key("stranger"))
    assert "signed by a key that" in lab.refused_alone("--data", str(file), "--signers", str(lab.allowed))
    file.with_name(f"{file.name}.sig").unlink()
    bundles.sign(file, lab.key)
    output = lab.publish_alone("--data", str(file), "--signers", str(lab.allowed))
    assert f"the evidence is from {file}, signed by {LAB}\n" in output
    assert lab.signers_of_the_data() == {LAB}


def test_whoever_only_reads_a_file_of_evidence_is_told_that_it_is_unsigned(lab: Lab) -> None:
    file = lab.write_evidence()
    question = ("can-i", "hazards.add", "--on", "hazards/xla", "--data", str(file))
    assert f"(evidence from {file}, unsigned)" in lab.portolan.call(*question).stdout
    bundles.sign(file, lab.key)
    assert f"(evidence from {file}, signature not checked)" in lab.portolan.call(*question).stdout


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
    refusal = f"{lab.bundle} is signed with a key of {LAB} that {revoked} revokes"
    assert refusal in lab.refused("--revoked", str(revoked))
    key_list = lab.folder / "revocation_list"
    subprocess.run(["ssh-keygen", "-q", "-k", "-f", str(key_list), f"{lab.key}.pub"], check=True)
    assert f"{key_list} revokes" in lab.refused("--revoked", str(key_list))


def test_a_file_of_revoked_keys_that_has_no_keys_is_named(lab: Lab) -> None:
    lab.sign(lab.key)
    revoked = lab.folder / "revoked_keys"
    revoked.write_text("# none yet\n")
    lab.publish("--revoked", str(revoked))
    shutil.rmtree(lab.site)
    revoked.write_text("the key of last year\n")
    assert f"{revoked} is not a list of keys: write one public key per line" in lab.refused("--revoked", str(revoked))


def test_options_of_signatures_that_cannot_hold_are_refused(lab: Lab) -> None:
    place = str(lab.folder / "site")
    for options in (("--signers", str(lab.allowed)), ("--unsigned",), ("--unsigned", "--data", "shipped")):
        message = lab.portolan.refused("publish", place, *options)
        assert f"{options[0]} applies only to bundles and to a file of --data" in message
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
    output = portolan.ask("signer", "add", LAB, str(lab.key.with_suffix(".pub")))
    assert output == f"signer 1, {LAB}: {fingerprint} is trusted\n"
    signature = lab.bundle.with_name(f"{lab.bundle.name}.sig")
    signature.rename(lab.folder / "away")
    message = portolan.refused("import", str(lab.bundle))
    assert message.startswith(f"portolan: {lab.bundle} is not signed: ")
    assert "--unsigned" in message
    assert portolan.ask("import", str(lab.bundle), "--unsigned").endswith(", unsigned\n")
    (lab.folder / "away").rename(signature)
    assert portolan.ask("import", str(lab.bundle)).endswith(f", signed by {LAB}\n")
    assert portolan.ask("signer", "revoke", "1") == f"signer 1, {LAB}: revoked\n"
    assert " by admin" in portolan.ask("signer", "list")
    assert "that was revoked on" in portolan.refused("import", str(lab.bundle))
    signature.write_text("no signature")
    assert "is not a signature of ssh-keygen" in portolan.refused("import", str(lab.bundle))
