"""Whatever a request names, nothing outside the daemon's folder is read or created."""

import asyncio
from pathlib import Path

import pytest

from crawler.serve.api.actions import _write_new
from crawler.serve.folder import problems_of_new
from crawler.testing.timeouts import MAX_WAIT_S
from tests.unit.serve.api.serving import BASE, Api, served

GOOD = b'[crawl]\nseeds = ["http://a.test/"]\n'
NAMES = (
    "../a",
    "..%2Fa",
    "..%2fa",
    "%2e%2e%2fa",
    "%2e%2e",
    "%252e%252e%252fa",
    "..%5Ca",
    "%2Fetc%2Fpasswd",
    "//etc/passwd",
    "a%00",
    "%00",
    "a%0A",
    ".a",
    "a%2F..%2F..%2Fb",
    "%C0%AE%C0%AE%2Fa",
    "%ff",
    "~root",
    "a" * 101,
    "a" * 5000,
)


async def asked(api: Api, method: str, target: str, body: bytes = b"") -> tuple[int, bytes]:
    """Ask for exactly this: a client of HTTP would tidy it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    writer.write(
        f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{api.port}\r\nAuthorization: Bearer {api.token}\r\n"
        f"Content-Type: application/toml\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        + body
    )
    async with asyncio.timeout(MAX_WAIT_S):
        head, _, told = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return int(head.split()[1]), told


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "daemon" not in path.parts}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "outer" / "home"
    home.mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "outer"):
        (folder / "a.toml").write_bytes(GOOD + b"# secret")
    return home


async def test_names_of_crawls_lead_nowhere(home: Path, tmp_path: Path) -> None:
    async with served(home, client_requests_per_s=1e6, requests_per_s=1e6) as api:
        before = files(tmp_path)
        for name in NAMES:
            for method, suffix in (
                ("GET", ""),
                ("PUT", ""),
                ("DELETE", ""),
                ("POST", "/start"),
                ("GET", "/log"),
                ("GET", "/configuration"),
                ("GET", "/pages"),
                ("GET", "/url?url=http://a.test/"),
            ):
                status, told = await asked(
                    api, method, f"{BASE}/crawls/{name}{suffix}", GOOD if method == "PUT" else b""
                )
                assert status in {400, 404, 405, 422}, (method, name, suffix, told)
                assert b"secret" not in told
        assert files(tmp_path) == before


async def test_targets_lead_to_no_file(home: Path) -> None:
    async with served(home) as api:
        for target in (
            "/../a.toml",
            "/../../etc/passwd",
            "/%2e%2e/a.toml",
            "/token",
            "/daemon/tokens.json",
            f"{BASE}/../../token",
            f"{BASE}/%2e%2e/%2e%2e/token",
            f"{BASE}/crawls/../../../token",
            "//127.0.0.1/token",
            "http://evil.test/token",
            "file:///etc/passwd",
        ):
            status, told = await asked(api, "GET", target)
            assert status in {400, 404, 421}, (target, told)
            assert api.token.encode() not in told


async def test_a_configuration_that_leaves_the_folder_is_refused_and_reads_nothing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "secrets.txt").write_text("http://secret.test/\n")
    (home / "link").symlink_to(tmp_path)
    (home / "seeds.txt").symlink_to(tmp_path / "secrets.txt")
    async with served(home) as api:
        before = files(tmp_path)
        for more in (
            b'directory = "../x"',
            b'directory = "/tmp/onceover-elsewhere"',
            b'directory = "link/x"',
            b'seed_files = ["../../secrets.txt"]',
            b'seed_files = ["link/secrets.txt"]',
            b'seed_files = ["seeds.txt"]',
            b'seed_files = ["/etc/passwd"]',
            b'seed_files = ["/dev/zero"]',
            b'seed_files = "/dev/zero"',
            b'name = "../../x"',
            b'directory = "a\\u0000b"',
        ):
            status, told = await asked(api, "PUT", f"{BASE}/crawls/new", GOOD + more)
            assert status == 422, (more, told)
            assert b"secret.test" not in told
            assert b"root:" not in told
        assert files(tmp_path) == before
    assert not Path("/tmp/onceover-elsewhere").exists()


async def test_a_link_at_the_place_of_a_new_crawl_is_not_followed(home: Path, tmp_path: Path) -> None:
    (home / "new.toml").symlink_to(tmp_path / "made.toml")
    async with served(home) as api:
        status, _ = await asked(api, "PUT", f"{BASE}/crawls/new", GOOD)
        assert status in {409, 503}
    for name in ("..other.toml", "..other.toml.made", "..other.toml.new"):
        (home / name).symlink_to(tmp_path / "made.toml")
    problems_of_new(home, "other", GOOD)
    _write_new(home / "other.toml", GOOD)
    assert not (tmp_path / "made.toml").exists()
