"""Tokens: their files, their rights, the commands, and the audit."""

import os
import re
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crawler.serve.api.gate.limits import Limits
from crawler.serve.api.gate.tokens import MAX_TOKENS, OWNER, Rights, TokenRefused, Tokens
from tests.e2e.operating import command_here
from tests.full_disk import no_space
from tests.unit.serve.api.serving import served


def names(tokens: Tokens) -> list[str]:
    return [token.name for token in tokens.known()]


def audit(home: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in (home / "daemon" / "audit.log").read_text().splitlines()]


def test_the_token_of_the_owner_is_made_once_for_its_owner_and_a_new_one_holds_at_once(tmp_path: Path) -> None:
    tokens, path = Tokens(tmp_path), tmp_path / "token"
    assert tokens.known() == []
    assert tokens.find("") is None
    tokens.make_owner()
    first = path.read_text().strip()
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", first)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    tokens.make_owner()
    found = tokens.find(first)
    assert found is not None
    assert (found.name, found.rights) == (OWNER, Rights.FULL)
    path.write_text("another-token-of-mine\n")
    assert tokens.find("another-token-of-mine") is not None
    assert tokens.find(first) is None
    assert found not in tokens.known()


def test_a_full_disk_or_a_power_failure_leaves_no_token_that_keeps_the_daemon_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, path = Tokens(tmp_path), tmp_path / "token"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="No space left"):
            tokens.make_owner()
    assert not path.exists()
    path.touch()
    tokens.make_owner()
    assert tokens.find(path.read_text().strip()) is not None


def test_a_token_that_others_know_is_refused(tmp_path: Path) -> None:
    tokens, path = Tokens(tmp_path), tmp_path / "token"
    tokens.make_owner()
    path.chmod(0o640)
    with pytest.raises(TokenRefused, match="expected mode 600, found 640"):
        tokens.make_owner()
    path.chmod(0o600)
    path.write_text("short")
    with pytest.raises(TokenRefused, match="at least 16 characters"):
        tokens.find("short")
    path.unlink()
    path.mkdir()
    with pytest.raises(TokenRefused, match="can't be read"):
        tokens.known()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_told_to_be_that_of_the_daemon_and_not_to_delete_its_token(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.make_owner()
    os.seteuid(4711)
    try:
        with pytest.raises(TokenRefused, match=r"can't be read: Permission denied\. .*run the command as that user$"):
            tokens.known()
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can work for another user")
def test_tokens_that_root_adds_can_be_read_by_the_daemon_of_another_user(tmp_path: Path) -> None:
    os.chown(tmp_path, 4711, 4712)
    Tokens(tmp_path).add("ci", Rights.READ)
    made = [tmp_path / "daemon", *(tmp_path / "daemon").iterdir()]
    assert {each.name for each in made} == {"daemon", "tokens.json", "tokens.lock"}
    assert {(each.stat().st_uid, each.stat().st_gid) for each in made} == {(4711, 4712)}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can work for another user")
def test_the_daemon_can_read_its_tokens_also_if_root_is_killed_while_it_adds_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(tmp_path, 4711, 4712)
    replace = Path.replace

    def die_then(path: Path, target: Path) -> None:
        replace(path, target)
        raise SystemExit

    monkeypatch.setattr(Path, "replace", die_then)
    with pytest.raises(SystemExit):
        Tokens(tmp_path).add("ci", Rights.READ)
    file = (tmp_path / "daemon" / "tokens.json").stat()
    assert (file.st_uid, file.st_gid) == (4711, 4712)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can work for another user")
def test_nothing_changes_hands_to_which_a_link_leads(tmp_path: Path) -> None:
    home, other, file = tmp_path / "home", tmp_path / "other", tmp_path / "file"
    home.mkdir()
    other.mkdir()
    file.touch()
    os.chown(home, 4711, 4712)
    (home / "daemon").symlink_to(other)
    Tokens(home).add("ci", Rights.READ)
    assert other.stat().st_uid == 0
    (other / "tokens.lock").unlink()
    (other / "tokens.lock").symlink_to(file)
    with pytest.raises(OSError, match="symbolic links"):
        Tokens(home).add("cd", Rights.READ)
    assert file.stat().st_uid == 0


def test_of_further_tokens_only_digests_are_stored_for_their_owner(tmp_path: Path) -> None:
    tokens, path = Tokens(tmp_path), tmp_path / "daemon" / "tokens.json"
    secret = tokens.add("ci", Rights.READ, now=5.0)
    assert secret not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = Tokens(tmp_path).find(secret)
    assert found is not None
    assert (found.name, found.rights, found.created_at) == ("ci", Rights.READ, 5.0)
    assert tokens.find(found.sha256) is None
    tokens.add("other", Rights.FULL)
    assert names(tokens) == ["ci", "other"]
    tokens.revoke("ci")
    assert tokens.find(secret) is None
    assert found not in tokens.known()
    # A name that is used again gives the old token no rights.
    tokens.add("ci", Rights.FULL, now=5.0)
    assert found not in tokens.known()


def test_a_file_of_tokens_that_is_damaged_or_open_to_others_gives_nobody_access(tmp_path: Path) -> None:
    tokens, path = Tokens(tmp_path), tmp_path / "daemon" / "tokens.json"
    secret = tokens.add("ci", Rights.FULL)
    path.chmod(0o604)
    with pytest.raises(TokenRefused, match=r"others may read .* found 604. Delete the file, and add its tokens again"):
        tokens.find(secret)
    path.chmod(0o600)
    content = path.read_bytes()
    for damaged in (content[:-5], b"{}", b"\xff", b""):
        path.write_bytes(damaged)
        with pytest.raises(TokenRefused, match=r"tokens.json is damaged"):
            tokens.find(secret)
        with pytest.raises(TokenRefused, match=r"tokens.json is damaged"):
            tokens.add("more", Rights.FULL)
        assert path.read_bytes() == damaged


def test_tokens_that_make_no_sense_are_refused_and_change_nothing(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.add("ci", Rights.FULL)
    for name, word in (
        ("ci", "there is a token ci; revoke it first"),
        (OWNER, "choose another name"),
        ("", "expected a name"),
        ("../x", "expected a name"),
        ("a" * 65, "expected a name"),
    ):
        with pytest.raises(TokenRefused, match=word):
            tokens.add(name, Rights.FULL)
    with pytest.raises(TokenRefused, match="there is no token 'none'; there are: ci"):
        tokens.revoke("none")
    with pytest.raises(TokenRefused, match="write another into that file"):
        tokens.revoke(OWNER)
    assert names(tokens) == ["ci"]


def test_the_number_of_tokens_is_bounded(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.add("t0", Rights.READ)
    path = tmp_path / "daemon" / "tokens.json"
    (first,) = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode([{**first, "name": f"t{number}"} for number in range(MAX_TOKENS)]))
    with pytest.raises(TokenRefused, match="revoke one first"):
        tokens.add("more", Rights.READ)
    tokens.revoke("t7")
    tokens.add("more", Rights.READ)
    assert len(names(tokens)) == MAX_TOKENS


def test_the_commands_add_list_and_revoke_tokens(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert command_here("token", "list", home).out == ""
    added = command_here("token", "add", home, "grafana", "--read-only")
    assert added.code == 0
    Tokens(tmp_path).make_owner()
    found = Tokens(tmp_path).find(added.out.strip())
    assert found is not None
    assert found.rights is Rights.READ
    listed = command_here("token", "list", home)
    assert re.fullmatch(r"owner    full  in the file token\ngrafana  read  \d{4}-\S+Z\n", listed.out)
    (owner, grafana) = msgspec.json.decode(command_here("token", "list", home, "--json").out)
    assert owner == {"name": "owner", "rights": "full", "created_at": None}
    assert grafana.keys() == owner.keys()
    again = command_here("token", "add", home, "grafana")
    assert (again.code, again.out) == (5, "")
    assert again.err.startswith("onceover: there is a token grafana")
    assert command_here("token", "revoke", home, "grafana").out == "grafana is revoked\n"
    assert command_here("token", "revoke", home, "grafana").code == 5
    assert command_here("token", "list", str(tmp_path / "none")).code == 2


async def test_a_token_for_reading_changes_nothing_and_a_revoked_one_holds_no_longer(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        tokens = Tokens(tmp_path)
        reader, writer = tokens.add("reader", Rights.READ), tokens.add("writer", Rights.FULL)
        assert (await api.ask("GET", "/crawls", token=reader)).status == 200
        for method, path in (
            ("PUT", "/crawls/a"),
            ("DELETE", "/crawls/a"),
            ("POST", "/crawls/a/stop"),
            ("POST", "/reload"),
            ("PATCH", "/crawls"),
            ("POST", "/nothing"),
        ):
            refused = await api.ask(method, path, token=reader)
            assert refused.status == 403, (method, path, refused)
            assert b"the token reader may read, and change nothing" in refused.body
        assert (await api.ask("POST", "/reload", token=writer)).status == 200
        tokens.revoke("writer")
        assert (await api.ask("POST", "/reload", token=writer)).status == 401
        assert (await api.ask("GET", "/crawls", token=writer)).status == 401
        (tmp_path / "daemon" / "tokens.json").chmod(0o644)
        assert (await api.ask("GET", "/crawls", token=reader)).status == 503
    assert {path.name for path in tmp_path.iterdir()} == {"daemon", "token"}


async def test_no_token_counts_as_wrong_while_the_folder_of_the_daemon_is_away(tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    async with served(home) as api:
        token = api.token
        home.rename(away)
        for _ in range(2 * Limits().max_wrong_tokens_at_once):
            refused = await api.ask("GET", "/crawls", token=token)
            assert refused.status == 503
            assert f"move {home} back".encode() in refused.body
        away.rename(home)
        assert (await api.ask("GET", "/crawls")).status == 200


async def test_the_audit_names_who_has_asked_for_each_change_and_what_came_of_it(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        reader = Tokens(tmp_path).add("reader", Rights.READ)
        await api.ask("GET", "/crawls")
        await api.ask("POST", "/crawls/none/stop")
        await api.ask("POST", "/reload", token=reader)
        await api.ask("POST", "/reload", token="")
        await api.ask("POST", "/reload", token="wrong-but-long-enough")
        await api.ask("POST", "/reload")
        told = [
            (line["caller"], line["client"], line["method"], line["path"], line["status"]) for line in audit(tmp_path)
        ]
    assert told == [
        ("token owner", "127.0.0.1", "POST", "/api/v1/crawls/none/stop", 404),
        ("token reader", "127.0.0.1", "POST", "/api/v1/reload", 403),
        ("token owner", "127.0.0.1", "POST", "/api/v1/reload", 200),
    ]
    assert stat.S_IMODE((tmp_path / "daemon").stat().st_mode) == 0o700


async def test_a_change_is_in_the_audit_also_if_its_file_was_deleted(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.ask("POST", "/reload")
        (tmp_path / "daemon" / "audit.log").unlink()
        await api.ask("POST", "/reload")
        assert len(audit(tmp_path)) == 1
