"""Imports of signed bundles over the real application: who signed them, and which are refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from coordinator.assess.evidence_file import read
from coordinator.bundles.signature import SIGNATURE, read_signature
from tests import bundles
from tests.app_client import app_client

LAB = "lab@example.org"


@pytest.fixture(scope="module")
def bundle_content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    lines = bundles.lines_of(bundles.make(tmp_path_factory.mktemp("bundle") / "made.bundle", runs=1).read_bytes())
    lines[0]["runner"]["device"] = "xla"
    return bundles.sealed(lines)


@pytest.fixture
def bundle(bundle_content: bytes, tmp_path: Path) -> Path:
    file = tmp_path / "hazards.bundle"
    file.write_bytes(bundle_content)
    return file


@pytest.fixture
async def http(database: str) -> AsyncIterator[httpx.AsyncClient]:
    async with app_client(database) as client:
        yield client


async def trust(http: httpx.AsyncClient, key: Path, name: str = LAB) -> int:
    answer = await http.post("/signers", json={"name": name, "key": key.with_suffix(".pub").read_text()})
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    return number


def on_other_hardware(bundle: Path) -> None:
    """Change a complete bundle into another complete bundle."""
    lines = bundles.lines_of(bundle.read_bytes())
    lines[0]["runner"]["fingerprint"]["hardware"] = "TPU v9"
    bundle.write_bytes(bundles.sealed(lines))


def content_of(bundle: Path) -> bytes:
    return bundle.read_bytes()


async def send(http: httpx.AsyncClient, bundle: Path, path: str = "/bundles") -> httpx.Response:
    signature = read_signature(bundle)
    headers = bundles.HEADERS if signature is None else {**bundles.HEADERS, SIGNATURE: signature}
    return await http.post(path, headers=headers, content=content_of(bundle))


async def refusal(http: httpx.AsyncClient, bundle: Path, path: str = "/bundles") -> str:
    answer = await send(http, bundle, path)
    assert answer.status_code == 422, answer.text
    assert (await http.get("/campaigns")).json()["campaigns"] == []
    return str(answer.json()["detail"])


async def signatures_of_evidence(http: httpx.AsyncClient) -> list[str | None]:
    evidence = read((await http.get("/evidence")).content, "the answer", "the test")
    return [chart.signature for target in evidence.targets for chart in target.charts]


async def campaign_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code in (200, 201), answer.text
    campaign: dict[str, Any] = answer.json()
    return campaign


@pytest.mark.parametrize("kind", ["ed25519", "rsa", "ecdsa"])
async def test_a_signed_bundle_is_its_signers_until_the_key_is_revoked(
    http: httpx.AsyncClient, bundle: Path, tmp_path: Path, kind: str
) -> None:
    key = bundles.make_key(tmp_path, "lab", kind)
    number = await trust(http, key)
    bundles.sign(bundle, key)
    campaign = await campaign_of(await send(http, bundle))
    assert campaign["signed_by"] == LAB
    assert await signatures_of_evidence(http) == [f"signed by {LAB}"]
    answer = await http.delete(f"/signers/{number}")
    assert answer.json()["revoked_by"] == "admin"
    assert (await http.get(f"/campaigns/{campaign['id']}")).json()["signed_by"] is None
    assert await signatures_of_evidence(http) == ["unsigned"]


async def test_an_unsigned_bundle_is_refused_with_how_to_sign_it_and_how_to_accept_it(
    http: httpx.AsyncClient, bundle: Path
) -> None:
    for path in ("/bundles", "/bundles?unsigned=false"):
        message = await refusal(http, bundle, path)
        assert "the bundle is not signed" in message
        assert "ssh-keygen -Y sign -n portolan-bundle -f KEY" in message
        assert "unsigned=true" in message


async def test_who_accepts_unsigned_bundles_still_accepts_no_invalid_signature(
    http: httpx.AsyncClient, bundle: Path, tmp_path: Path
) -> None:
    key = bundles.make_key(tmp_path, "lab")
    bundles.sign(bundle, key)
    assert "portolan signer add" in await refusal(http, bundle, bundles.UPLOAD)
    await trust(http, key)
    on_other_hardware(bundle)
    assert f"no valid signature of {LAB}" in await refusal(http, bundle, bundles.UPLOAD)


async def test_an_unsigned_bundle_that_is_accepted_becomes_the_signers_when_it_comes_signed(
    http: httpx.AsyncClient, bundle: Path, tmp_path: Path
) -> None:
    key = bundles.make_key(tmp_path, "lab")
    await trust(http, key)
    first = await campaign_of(await send(http, bundle, bundles.UPLOAD))
    assert first["signed_by"] is None
    page = await http.get(f"http://localhost/campaigns/{first['id']}", headers={"Accept": "text/html"})
    assert "from a bundle without a trusted signature" in page.text
    bundles.sign(bundle, key)
    second = await campaign_of(await send(http, bundle))
    assert (second["id"], second["signed_by"]) == (first["id"], LAB)


async def test_a_bundle_that_was_changed_after_it_was_signed_is_refused(
    http: httpx.AsyncClient, bundle: Path, tmp_path: Path
) -> None:
    key = bundles.make_key(tmp_path, "lab")
    await trust(http, key)
    bundles.sign(bundle, key)
    on_other_hardware(bundle)
    message = await refusal(http, bundle)
    assert f"no valid signature of {LAB}" in message
    assert "ask for a fresh copy" in message


async def test_a_signature_for_another_purpose_is_refused(
    http: httpx.AsyncClient, bundle: Path, tmp_path: Path
) -> None:
    key = bundles.make_key(tmp_path, "lab")
    await trust(http, key)
    bundles.sign(bundle, key, "git")
    assert f"no valid signature of {LAB}" in await refusal(http, bundle)


async def test_a_key_that_nobody_trusts_and_one_that_was_revoked_are_refused_with_what_to_do(
    http: httpx.AsyncClient, bundle: Path, tmp_path: Path
) -> None:
    key = bundles.make_key(tmp_path, "lab")
    bundles.sign(bundle, key)
    assert "portolan signer add" in await refusal(http, bundle)
    number = await trust(http, key)
    await http.delete(f"/signers/{number}")
    message = await refusal(http, bundle)
    assert f"with a key of {LAB} that was revoked on" in message
    again = await http.post("/signers", json={"name": LAB, "key": key.with_suffix(".pub").read_text()})
    assert again.status_code == 409
    assert "for a new key" in again.json()["detail"]


async def test_a_key_is_trusted_once_and_only_a_public_key_is(http: httpx.AsyncClient, tmp_path: Path) -> None:
    key = bundles.make_key(tmp_path, "lab")
    number = await trust(http, key)
    public = key.with_suffix(".pub").read_text()
    twice = await http.post("/signers", json={"name": "another", "key": public})
    assert (twice.status_code, f"(signer {number}, {LAB})" in twice.json()["detail"]) == (409, True)
    kind, content, _ = public.split()
    for wrong in (
        key.read_text(),
        f"ssh-rsa {content}",
        f"{kind} {content[:-3]}",
        f"{kind} {content}\n{LAB} {content}",
    ):
        answer = await http.post("/signers", json={"name": LAB, "key": wrong})
        assert answer.status_code == 422, wrong
    assert (await http.delete("/signers/987654")).status_code == 404
    (signer,) = (await http.get("/signers")).json()["signers"]
    assert (signer["name"], signer["key"], signer["revoked_at"]) == (LAB, f"{kind} {content}", None)


async def test_what_is_no_signature_is_refused(http: httpx.AsyncClient, bundle_content: bytes) -> None:
    for signature in ("no signature!", "AAAA", "A" * 9000):
        answer = await http.post("/bundles", headers={**bundles.HEADERS, SIGNATURE: signature}, content=bundle_content)
        assert answer.status_code == 422, json.dumps(answer.json())
