"""The API by TLS, and for clients of other machines."""

import asyncio
import logging
import ssl
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from crawler.cli.serve.daemon import _certificate
from crawler.serve.api.gate.guard import names_of
from crawler.serve.api.gate.tls import Certificate, CertificateRefused
from crawler.serve.api.server import Listen
from crawler.testing.timeouts import MAX_WAIT_S
from tests.e2e.operating import command_here
from tests.unit.serve.api.serving import BASE, IDLE_S, Api, served


class Files:
    """A certificate of an authority of its own, and its key."""

    def __init__(self, folder: Path) -> None:
        self.certificate = folder / "certificate.pem"
        self.key = folder / "key.pem"
        self._authority = trustme.CA()
        self.issue()

    def issue(self, *names: str, not_after: datetime | None = None) -> None:
        """Replace both."""
        begin = datetime(2000, 1, 1, tzinfo=UTC)
        issued = self._authority.issue_cert(
            *(names or ("127.0.0.1", "crawls.test")), not_before=begin, not_after=not_after
        )
        self.certificate.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
        self.key.touch(mode=0o600)
        self.key.write_bytes(issued.private_key_pem.bytes())

    @property
    def options(self) -> tuple[str, ...]:
        return ("--tls-certificate", str(self.certificate), "--tls-key", str(self.key))

    def trusting(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self._authority.configure_trust(context)
        return context

    def write_authority(self, path: Path) -> None:
        self._authority.cert_pem.write_to_path(str(path))

    def listen(self) -> Listen:
        return Listen(
            "127.0.0.1", 0, certificate=Certificate(self.certificate, self.key), remote_names=("crawls.test",)
        )


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def asked(api: Api, files: Files, **headers: str) -> int:
    connector = aiohttp.TCPConnector(ssl=files.trusting())
    async with (
        aiohttp.ClientSession(connector=connector) as client,
        client.get(
            f"https://127.0.0.1:{api.port}{BASE}/crawls", headers={"Authorization": f"Bearer {api.token}", **headers}
        ) as reply,
    ):
        return reply.status


async def serial_number(api: Api, files: Files) -> object:
    """Of the certificate that a new connection gets."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port, ssl=files.trusting())
    try:
        return writer.get_extra_info("peercert")["serialNumber"]
    finally:
        writer.close()
        await writer.wait_closed()
        assert await reader.read() == b""


def shown_by(certificate: Certificate) -> bytes | None:
    """What a client is shown."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    client = trusting.wrap_bio(to_client, to_server)
    server = certificate.context().wrap_bio(to_server, to_client, server_side=True)
    for each in (client, server, client):
        with suppress(ssl.SSLWantReadError):
            each.do_handshake()
    return client.getpeercert(binary_form=True)


async def test_with_tls_other_names_may_be_used_but_only_those_that_are_given(tmp_path: Path, files: Files) -> None:
    async with served(tmp_path / "home", files.listen()) as api:
        assert await asked(api, files) == 200
        assert await asked(api, files, Authorization="Bearer a-wrong-token-of-mine") == 401
        for host, status in (
            ("crawls.test", 200),
            (f"crawls.test:{api.port}", 200),
            (f"Crawls.TEST:{api.port}", 200),
            (f"crawls.test:{api.port + 1}", 421),
            ("evil.test", 421),
            (f"127.0.0.1.evil.test:{api.port}", 421),
        ):
            assert await asked(api, files, Host=host) == status, host
        for origin, status in (
            ("https://crawls.test", 200),
            (f"https://crawls.test:{api.port}", 200),
            (f"https://127.0.0.1:{api.port}", 200),
            (f"http://127.0.0.1:{api.port}", 403),
            ("http://crawls.test", 403),
            ("https://evil.test", 403),
            ("null", 403),
        ):
            assert await asked(api, files, Origin=origin) == status, origin


async def test_who_speaks_no_tls_or_is_slow_to_begin_gets_nothing(
    tmp_path: Path, files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path / "home", files.listen(), idle_s=IDLE_S, max_connections_per_client=3) as api:
        for sent in (b"GET / HTTP/1.1\r\nHost: crawls.test\r\n\r\n", b"\x16\x03\x01", b""):
            reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
            writer.write(sent)
            async with asyncio.timeout(MAX_WAIT_S):
                try:
                    told = await reader.read()
                except ConnectionError:
                    told = b""
            assert b"HTTP" not in told
            writer.close()
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await asked(api, Files(tmp_path / "home"))
        assert await asked(api, files) == 200
    assert [record for record in caplog.records if record.levelname != "INFO"] == []


async def test_connections_count_before_tls_begins(tmp_path: Path, files: Files) -> None:
    async with served(tmp_path / "home", files.listen(), max_connections_per_client=3) as api:
        opened = [await asyncio.open_connection("127.0.0.1", api.port) for _ in range(3)]
        reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
        async with asyncio.timeout(MAX_WAIT_S):
            assert await reader.read() == b""
        for _, each in (*opened, (reader, writer)):
            each.close()


async def test_a_new_certificate_holds_after_a_reload_and_a_wrong_one_is_left_out(
    tmp_path: Path, files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path / "home", files.listen()) as api:
        first = await serial_number(api, files)
        files.issue()
        assert await serial_number(api, files) == first
        await api.daemon.reload()
        second = await serial_number(api, files)
        assert second != first
        files.key.write_bytes(b"nonsense")
        await api.daemon.reload()
        assert await serial_number(api, files) == second
    assert "the present certificate is kept" in caplog.text


def test_a_certificate_that_is_a_link_is_read_again_where_the_link_leads(
    tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those that certbot renews. The daemon works in another directory meanwhile."""
    links = tmp_path / "live.pem", tmp_path / "live.key"
    monkeypatch.chdir(tmp_path)

    def lead_to(found: Files) -> bytes:
        for link, target in zip(links, (found.certificate, found.key), strict=True):
            link.unlink(missing_ok=True)
            link.symlink_to(target)
        return ssl.PEM_cert_to_DER_cert(found.certificate.read_text())

    first = lead_to(files)
    certificate = _certificate(*(Path(each.name) for each in links))
    assert certificate is not None
    (tmp_path / "new").mkdir()
    monkeypatch.chdir("/")
    second = lead_to(Files(tmp_path / "new"))
    assert shown_by(certificate) == first
    certificate.reload()
    assert shown_by(certificate) == second


def test_which_certificate_was_read_is_told_and_whether_clients_will_refuse_it(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    certificate = Certificate(files.certificate, files.key)

    def told_after_a_reload() -> list[str]:
        caplog.clear()
        certificate.reload()
        return [
            f"{record.levelname} {record.getMessage()}".replace(f"{files.certificate}", "FILE")
            for record in caplog.records
        ]

    certificate.tell(("crawls.test", "crawls.test:8443", "[::1]:8443", "127.0.0.1"))
    said, lacking = caplog.messages
    assert "is for 127.0.0.1, crawls.test, from 2000-01-01T00:00:00Z to 3000-01-01T00:00:00Z" in said
    assert "is not for ::1: clients" in lacking

    files.issue("crawls.test", "127.0.0.1", "::1")
    (said,) = told_after_a_reload()
    assert said.startswith(
        "INFO API: the certificate in FILE is for crawls.test, 127.0.0.1, 0:0:0:0:0:0:0:1, from 2000-"
    )
    assert told_after_a_reload() == []

    files.issue("other.test", "127.0.0.1", not_after=datetime(2020, 1, 1, tzinfo=UTC))
    said, *warnings = told_after_a_reload()
    assert said.startswith("INFO API: the certificate in FILE is for other.test, 127.0.0.1, from 2000-")
    expired, lacking = warnings
    assert expired.startswith(
        "WARNING API: clients will refuse the certificate in FILE: certificate has expired; replace"
    )
    assert lacking.startswith(
        "WARNING API: the certificate in FILE is not for crawls.test and ::1: clients that ask so"
    )
    assert told_after_a_reload() == warnings


def test_certificates_that_can_not_be_used_are_refused(files: Files, tmp_path: Path) -> None:
    key = files.key.read_bytes()
    files.key.chmod(0o644)
    with pytest.raises(CertificateRefused, match=r"everybody may read the key .* found 644"):
        Certificate(files.certificate, files.key)
    files.key.chmod(0o600)
    encrypted = load_pem_private_key(key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    files.key.write_bytes(encrypted)
    with pytest.raises(CertificateRefused, match="is encrypted"):
        Certificate(files.certificate, files.key)
    files.key.write_bytes(trustme.CA().issue_cert("a.test").private_key_pem.bytes())
    with pytest.raises(CertificateRefused, match="expected a certificate in"):
        Certificate(files.certificate, files.key)
    with pytest.raises(CertificateRefused, match=r"none.pem can't be read: No such file"):
        Certificate(tmp_path / "none.pem", files.key)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--listen", "0.0.0.0:0"), "needs --tls-certificate, --tls-key and --allow-remote NAME"),
        (("--listen", "0.0.0.0:0", "--allow-remote", "crawls.test"), "needs --tls-certificate"),
        (("--listen", "0.0.0.0:0", "TLS"), "--allow-remote NAME"),
        (("--listen", "crawls.test:0", "TLS", "--allow-remote", "crawls.test"), "expected an address"),
        (("--listen", "127.0.0.1:0", "--allow-remote", "*"), "expected the name of a host"),
        (("--listen", "127.0.0.1:0", "--allow-remote", "https://crawls.test/"), "expected the name of a host"),
        (("TLS",), "need --listen"),
        (("--allow-remote", "crawls.test"), "need --listen"),
        (("--listen", "127.0.0.1:0", "KEY"), "belong together"),
    ],
)
def test_the_daemon_does_not_listen_in_an_unsafe_way(
    options: tuple[str, ...], word: str, files: Files, tmp_path: Path
) -> None:
    stands_for = {"TLS": files.options, "KEY": files.options[2:]}
    given = [each for option in options for each in stands_for.get(option, (option,))]
    told = command_here("daemon", str(tmp_path), *given)
    assert told.code == 2
    assert word in told.err
    assert not (tmp_path / "daemon").exists()


def test_the_names_of_a_port_are_those_that_are_given_and_those_of_this_machine() -> None:
    names = names_of("::1", 8040, remote=("crawls.test", "other.test:443"))
    assert names.url == "http://[::1]:8040"
    assert names.hosts == {
        *("127.0.0.1:8040", "localhost:8040", "[::1]:8040"),
        *("crawls.test", "crawls.test:8040", "other.test:443"),
    }
    # A proxy before the port speaks TLS.
    assert {"http://localhost:8040", "https://crawls.test", "https://other.test:443"} <= names.origins
    assert "http://crawls.test" not in names.origins
