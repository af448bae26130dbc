"""Where a crawl listens, and whom it lets in."""

import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from crawler.control import address
from crawler.control.address import SocketRefused
from crawler.testing.disks import mounted
from tests.unit.control.answering import left_behind


def test_only_the_owner_may_open_the_socket_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with address.listen(tmp_path):
            assert stat.S_IMODE((tmp_path / "control").lstat().st_mode) == 0o600
            assert address.check(tmp_path)
    finally:
        os.umask(before)


def test_nobody_can_connect_before_the_mode_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def chmod(path: Path, mode: int) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client, pytest.raises(ConnectionRefusedError):
            client.connect(str(path))
        assert not (tmp_path / "control").exists()
        tried.append(mode)

    monkeypatch.setattr(Path, "chmod", chmod)
    address.listen(tmp_path).close()
    assert tried == [0o600]
    assert [each.name for each in tmp_path.iterdir()] == ["control"]


@pytest.mark.parametrize("length", [10, 200])
def test_a_socket_has_its_name_only_once_it_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    deep = tmp_path.joinpath(*["d" * 50] * (length // 50))
    deep.mkdir(parents=True, exist_ok=True)
    left_behind(deep)
    (deep / "control").rename(deep / "control.new")  # of a process that died before it listened
    renamed, move = [], Path.rename

    def rename(path: Path, target: Path) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client, address.address(deep, path.name) as short:
            client.connect(short)
        assert not target.exists()
        move(path, target)
        renamed.append(target)

    monkeypatch.setattr(Path, "rename", rename)
    address.listen(deep).close()
    assert renamed == [deep / "control"]
    assert [each.name for each in deep.iterdir()] == ["control"]


@pytest.mark.parametrize("length", [10, 200])
def test_a_directory_of_any_depth_has_a_socket(tmp_path: Path, length: int) -> None:
    deep = tmp_path.joinpath(*["d" * 50] * (length // 50))
    deep.mkdir(parents=True, exist_ok=True)
    with address.listen(deep) as listening, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        with address.address(deep) as short:
            assert len(short.encode()) <= 107
            client.connect(short)
        listening.setblocking(True)
        listening.accept()[0].close()
    assert (deep / "control").is_socket()
    address.remove(deep)
    assert not (deep / "control").exists()


def test_a_socket_that_a_dead_process_left_is_replaced(tmp_path: Path) -> None:
    left_behind(tmp_path)
    with address.listen(tmp_path), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(str(tmp_path / "control"))


@pytest.mark.parametrize("kind", ["file", "directory", "link"])
def test_what_is_no_socket_is_neither_replaced_nor_used(tmp_path: Path, kind: str) -> None:
    control, other = tmp_path / "control", tmp_path / "other"
    match kind:
        case "file":
            control.write_text("precious")
        case "directory":
            control.mkdir()
        case _:
            left_behind(tmp_path)
            control.rename(other)
            control.symlink_to(other)
    with pytest.raises(SocketRefused, match=f"found a {kind}"):
        address.listen(tmp_path)
    with pytest.raises(SocketRefused, match=f"found a {kind}"):
        address.check(tmp_path)
    assert control.exists()


@pytest.mark.parametrize("mode", [0o660, 0o606, 0o777, 0o640])
def test_a_socket_that_others_may_open_is_not_used(tmp_path: Path, mode: int) -> None:
    with address.listen(tmp_path):
        (tmp_path / "control").chmod(mode)
        with pytest.raises(SocketRefused, match=f"expected mode 600, found {mode:o}"):
            address.check(tmp_path)


def test_a_crawl_of_another_user_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with address.listen(tmp_path):
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 4711)
        with pytest.raises(SocketRefused, match=r"belongs to .*sudo -u"):
            address.check(tmp_path)


def test_a_directory_without_a_socket_has_none(tmp_path: Path) -> None:
    assert not address.check(tmp_path)
    assert not address.check(tmp_path / "missing")
    address.remove(tmp_path)


def test_a_socket_that_stays_on_a_disk_that_takes_no_writes_ends_nothing_and_the_next_takes_its_place(
    tmp_path: Path,
) -> None:
    with mounted("-o", "size=1m", at=tmp_path / "mount") as mount:
        address.listen(mount).close()
        subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
        address.remove(mount)
        assert address.check(mount)
        subprocess.run(["mount", "-o", "remount,rw", mount], check=True)
        address.listen(mount).close()
        address.remove(mount)
        assert not address.check(mount)


def test_a_file_system_that_takes_no_socket_is_told(tmp_path: Path) -> None:
    with pytest.raises(SocketRefused, match="can't be used as a socket"):
        address.listen(tmp_path / "missing")
