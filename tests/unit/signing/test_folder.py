"""The folder of keys: who makes, renews and reads it."""

import stat
from pathlib import Path

import msgspec
import pytest

from crawler.identity.folder import IdentityRefused, KeyFolder
from tests.signature_check import thumbprint

NOW, DAY_S = 1.7e9, 86_400.0


def made(path: Path) -> KeyFolder:
    folder = KeyFolder(path / "keys")
    folder.make(now=NOW, valid_s=365 * DAY_S)
    return folder


def test_the_private_key_is_for_its_owner_alone_and_the_directory_is_what_is_published(tmp_path: Path) -> None:
    folder = made(tmp_path)
    [key] = folder.directory().keys
    assert stat.S_IMODE(folder.key_file(key).stat().st_mode) == 0o600
    assert key.kid == thumbprint(key.x)
    [published] = msgspec.json.decode(folder.directory_file.read_bytes())["keys"]
    assert published == {
        "kty": "OKP", "crv": "Ed25519", "kid": key.kid, "x": key.x, "use": "sig", "nbf": int(NOW), "exp": key.exp,
    }  # fmt: skip
    assert folder.key_file(key).read_text().splitlines()[0] == "-----BEGIN PRIVATE KEY-----"


def test_a_folder_with_keys_is_not_overwritten(tmp_path: Path) -> None:
    folder = made(tmp_path)
    before = {file.name: file.read_bytes() for file in folder.path.iterdir()}
    with pytest.raises(IdentityRefused, match="exists and was not changed"):
        folder.make(now=NOW, valid_s=DAY_S)
    assert {file.name: file.read_bytes() for file in folder.path.iterdir()} == before


def test_the_next_key_is_published_a_day_before_it_signs_beside_the_present_one(tmp_path: Path) -> None:
    folder = made(tmp_path)
    [old] = folder.directory().keys
    new, gone = folder.renew(now=NOW + 10, valid_s=365 * DAY_S, lead_s=DAY_S)
    assert gone == ()
    signs = [folder.signing_key(NOW + after) for after in (20, DAY_S + 5, DAY_S + 11)]
    assert [key.kid for key, _ in filter(None, signs)] == [old.kid, old.kid, new.kid]
    kept = {key.kid: key for key in folder.directory().keys}
    assert kept[old.kid].exp == new.nbf + 7 * DAY_S
    _, gone = folder.renew(now=NOW + 30 * DAY_S, valid_s=DAY_S, lead_s=DAY_S)
    assert [key.kid for key in gone] == [old.kid]
    assert old.kid not in {key.kid for key in folder.directory().keys}


def test_a_key_that_is_renewed_too_late_signs_at_once(tmp_path: Path) -> None:
    folder = made(tmp_path)
    late = NOW + 400 * DAY_S
    assert folder.signing_key(late) is None
    new, _ = folder.renew(now=late, valid_s=DAY_S, lead_s=DAY_S)
    found = folder.signing_key(late)
    assert found is not None
    assert found[0] == new


def test_until_the_next_key_signs_there_is_always_one_that_does(tmp_path: Path) -> None:
    folder = KeyFolder(tmp_path / "keys")
    old = folder.make(now=NOW, valid_s=DAY_S)
    new, _ = folder.renew(now=NOW + 60, valid_s=365 * DAY_S, lead_s=30 * DAY_S)
    later, _ = folder.renew(now=NOW + 120, valid_s=365 * DAY_S, lead_s=30 * DAY_S)
    assert new.nbf == old.exp
    found = [folder.signing_key(NOW + after * DAY_S) for after in (0.5, 1, 20, 29, 31)]
    assert [None if each is None else each[0].kid for each in found] == [old.kid, *[new.kid] * 3, later.kid]


def test_a_key_that_signs_after_the_next_one_keeps_its_time(tmp_path: Path) -> None:
    folder = made(tmp_path)
    later, _ = folder.renew(now=NOW, valid_s=365 * DAY_S, lead_s=30 * DAY_S)
    soon, _ = folder.renew(now=NOW + 10, valid_s=60 * DAY_S, lead_s=DAY_S)
    assert later in folder.directory().keys
    found = [folder.signing_key(NOW + after * DAY_S) for after in (2, 29, 31, 300)]
    assert [None if each is None else each[0] for each in found] == [soon, soon, later, later]


def test_a_folder_without_keys_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(IdentityRefused, match="onceover identity init"):
        KeyFolder(tmp_path).directory()


@pytest.mark.parametrize("damage", ["cut", "readable", "other", "gone"])
def test_a_private_key_that_cannot_be_used_is_refused_with_its_file(tmp_path: Path, damage: str) -> None:
    folder = made(tmp_path)
    [key] = folder.directory().keys
    file = folder.key_file(key)
    match damage:
        case "cut":
            file.write_bytes(file.read_bytes()[:50])
        case "readable":
            file.chmod(0o644)
        case "other":
            other = KeyFolder(tmp_path / "other")
            file.write_bytes(other.key_file(other.make(now=NOW, valid_s=DAY_S)).read_bytes())
        case "gone":
            file.unlink()
    with pytest.raises(IdentityRefused, match=key.kid):
        folder.signing_key(NOW)


@pytest.mark.parametrize("text", [b"", b"{", b'{"keys": [{}]}', b"[]", b'{"keys": [{"kid": "\xff"}]}'])
def test_a_damaged_directory_is_refused_with_its_file(tmp_path: Path, text: bytes) -> None:
    folder = made(tmp_path)
    folder.directory_file.write_bytes(text)
    with pytest.raises(IdentityRefused, match="http-message-signatures-directory"):
        folder.directory()


@pytest.mark.parametrize("moment", [-(10**12), 253_402_300_800, int(NOW) * 1000])
@pytest.mark.parametrize("field", ["nbf", "exp"])
def test_a_key_is_valid_within_the_years_that_can_be_shown(tmp_path: Path, field: str, moment: int) -> None:
    folder = made(tmp_path)
    directory = msgspec.json.decode(folder.directory_file.read_bytes())
    directory["keys"][0][field] = moment
    folder.directory_file.write_bytes(msgspec.json.encode(directory))
    with pytest.raises(IdentityRefused, match=rf"http-message-signatures-directory: .*{field}"):
        folder.directory()


def test_a_directory_whose_ids_are_not_those_of_its_keys_is_refused(tmp_path: Path) -> None:
    folder = made(tmp_path)
    [key] = folder.directory().keys
    folder.directory_file.write_text(folder.directory_file.read_text().replace(key.kid, "x" * 43))
    with pytest.raises(IdentityRefused, match="not the thumbprint"):
        folder.directory()
