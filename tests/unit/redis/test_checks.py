"""What is said about a server of Redis before a crawl uses it."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
import redis
import trustme
from redis.asyncio import RedisCluster
from redis.exceptions import RedisError

from config import ConfigError, load
from crawler.redis.checks import (
    ServerGone,
    ServerRefused,
    ServerUnwritable,
    checked,
    complaint,
    permissions,
    why_unwritable,
)
from crawler.redis.client import FAILURES, connected, leave_idle, reason_of
from crawler.redis.server import Server
from crawler.testing.loops import in_event_loop
from crawler.wiring.components.exchanging import redis_server
from tests.ports import free_port
from tests.redis_nodes import running_nodes, wait_until
from tests.redis_server import RedisServer, running_redis

GOOD = {"redis_version": "6.2.0", "role": "master", "maxmemory_policy": "noeviction", "maxmemory": 0, "used_memory": 9}


async def use(server: Server, prefix: str = "tests") -> None:
    """Use it as a crawl does."""
    async with checked(server, prefix=prefix) as client:
        key = f"{{{prefix}:1:0}}:stream"
        await client.eval("return redis.call('XADD', KEYS[1], '*', 'f', ARGV[1])", 1, key, b"1")
        assert await client.xlen(key) == 1
        await client.delete(key)


@pytest.mark.parametrize(
    ("fault", "mended_by"),
    [
        ({"redis_version": "6.0.16"}, r"expected Redis 6\.2 or newer at HERE, found 6\.0\.16"),
        ({"maxmemory_policy": "allkeys-lru"}, r"\(allkeys-lru\); put `maxmemory-policy noeviction`"),
    ],
)
def test_a_server_that_can_not_be_used_is_told_what_to_change(fault: dict[str, object], mended_by: str) -> None:
    message = complaint({**GOOD, **fault}, "HERE")
    assert re.search(mended_by, message or "")


def test_a_server_whose_memory_is_nearly_full_is_told_how_much_it_needs() -> None:
    message = why_unwritable({**GOOD, "maxmemory": 4 << 20, "used_memory": 3 << 20}, "HERE")
    assert re.search(r"uses 3\.0 MB of the 4\.0 MB .* `maxmemory 67mb`", message or "")
    assert why_unwritable({**GOOD, "maxmemory": 40 << 20, "used_memory": 3 << 20}, "HERE") is None
    assert why_unwritable(GOOD, "HERE") is None


@in_event_loop
async def test_a_replica_is_told_with_its_master_and_may_be_used_when_it_takes_over() -> None:
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        client.replicaof("127.0.0.1", 1)
        with pytest.raises(ServerUnwritable, match=r"is a replica.* its master, 127\.0\.0\.1:1, or one of Sentinels"):
            await use(Server(url=server.url))
        client.replicaof("NO", "ONE")
        await use(Server(url=server.url))


@pytest.mark.parametrize("masters", [1, 2])
@in_event_loop
async def test_each_node_of_a_cluster_is_checked_and_named(masters: int) -> None:
    with running_nodes(masters=masters) as nodes:
        await use(Server(url=nodes.url))
        last = nodes.masters[-1]
        last.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        place = rf"127\.0\.0\.1:{last.port}, a node of the cluster at"
        with pytest.raises(ServerRefused, match=rf"^Redis at {place} .*, deletes what it holds"):
            await use(Server(url=nodes.url))


@in_event_loop
async def test_a_server_whose_memory_is_full_may_be_used_later() -> None:
    with running_redis("--maxmemory", "1mb") as server, pytest.raises(ServerUnwritable, match="to be free"):
        await use(Server(url=server.url))


@in_event_loop
async def test_a_server_that_lacks_replicas_may_be_used_later() -> None:
    with running_redis("--min-replicas-to-write", "1") as server:
        with pytest.raises(
            ServerUnwritable, match=r"takes no writes now: NOREPLICAS Not enough good replicas to write$"
        ):
            await use(Server(url=server.url))
        with redis.Redis.from_url(server.url) as client:
            client.config_set("min-replicas-to-write", 0)
        await use(Server(url=server.url))


@in_event_loop
async def test_a_server_that_runs_a_script_for_long_may_be_used_later() -> None:
    with running_redis() as server, redis.Redis.from_url(server.url) as client, ThreadPoolExecutor(1) as thread:
        client.config_set("busy-reply-threshold", 1)
        script = thread.submit(client.eval, "while true do end", 0)
        await asyncio.to_thread(wait_until, lambda: is_busy(server))
        with pytest.raises(ServerUnwritable, match="takes no writes now: BUSY Redis is busy running a script"):
            await use(Server(url=server.url))
        with redis.Redis.from_url(server.url) as other:
            other.script_kill()
        with pytest.raises(RedisError, match="killed"):
            script.result()
        await use(Server(url=server.url))


def is_busy(server: RedisServer) -> bool:
    with redis.Redis.from_url(server.url) as client:
        try:
            client.ping()
        except RedisError:
            return True
        return False


def test_a_server_of_valkey_tells_the_version_of_redis_that_it_equals() -> None:
    assert complaint({**GOOD, "redis_version": "7.2.4", "valkey_version": "8.0.1"}, "HERE") is None


@in_event_loop
async def test_a_server_that_may_delete_links_or_asks_for_a_password_is_refused() -> None:
    with running_redis("--maxmemory-policy", "allkeys-lru") as server:
        with pytest.raises(ServerRefused, match="noeviction"):
            await use(Server(url=server.url))
        with redis.Redis.from_url(server.url) as client:
            client.config_set("maxmemory-policy", "noeviction")
            await use(Server(url=server.url))
            client.config_set("requirepass", "secret")
        for password in ("wrong", None):
            with pytest.raises(ServerRefused, match=r"password: .*[^.]; name a file \(password_file\) or a variable"):
                await use(Server(url=server.url, password=password))
        await use(Server(url=server.url, password="secret"))
    with pytest.raises(ServerGone, match="can't be reached"):
        await use(Server(url=server.url))


@in_event_loop
async def test_a_server_that_closes_connections_may_be_starting_or_ask_for_tls() -> None:
    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(close, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ServerGone, match="start it, or if it asks for TLS, use rediss:// instead of redis://"):
            await use(Server(url=f"redis://127.0.0.1:{port}/0"))


@in_event_loop
async def test_a_user_that_lacks_a_permission_is_told_the_line_that_gives_it() -> None:
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        url = server.url.replace("unix://", "unix://onceover@")
        line = permissions("tests")
        words = line.replace("PASSWORD", "secret").split(" ")[2:]
        client.execute_command("ACL SETUSER", *words)
        await use(Server(url=url, password="secret"))
        for lacking in ("-xadd", "-eval", "-info", "-get"):
            client.execute_command("ACL SETUSER", "onceover", lacking)
            with pytest.raises(ServerRefused) as refused:
                await use(Server(url=url, password="secret"))
            assert line in str(refused.value)
            client.execute_command("ACL SETUSER", *words)
        with pytest.raises(ServerRefused, match=re.escape(permissions("others"))):
            await use(Server(url=url, password="secret"), prefix="others")


@in_event_loop
async def test_a_server_that_can_not_save_its_data_is_told_that_links_need_none(tmp_path: Path) -> None:
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        client.config_set("save", "1000 1")
        client.set("some", "value")
        client.execute_command("CONFIG", "SET", "rdbcompression", "no")
        (server.folder / "dump.rdb").mkdir()
        client.bgsave()
        while client.info("persistence")["rdb_last_bgsave_status"] == "ok":
            pass
        with pytest.raises(ServerRefused, match="save"):
            await use(Server(url=server.url))
        client.config_set("save", "")
        await use(Server(url=server.url))


class Secure:
    """A server that asks for TLS, and for a certificate of its clients."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self.ca, self.cert, self.key = folder / "ca.pem", folder / "cert.pem", folder / "key.pem"
        self._authority.cert_pem.write_to_path(self.ca)
        self.issue("127.0.0.1")
        self.port = free_port()
        self.url = f"rediss://127.0.0.1:{self.port}"

    def issue(self, name: str, holds_until: datetime | None = None) -> None:
        """Give it another certificate."""
        issued = self._authority.issue_cert(name, not_before=datetime(2000, 1, 1, tzinfo=UTC), not_after=holds_until)
        issued.private_key_pem.write_to_path(self.key)
        self.cert.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))

    @property
    def options(self) -> list[str]:
        files = ("--tls-ca-cert-file", self.ca, "--tls-cert-file", self.cert, "--tls-key-file", self.key)
        return ["--tls-port", str(self.port), *map(str, files)]


@in_event_loop
async def test_a_server_is_asked_over_tls_with_certificates_of_its_own(tmp_path: Path) -> None:
    secure = Secure(tmp_path)
    whole = Server(url=secure.url, tls_ca=secure.ca, tls_cert=secure.cert, tls_key=secure.key)
    with running_redis(*secure.options):
        await use(whole)
        with pytest.raises(ServerRefused, match="tls_ca"):
            await use(Server(url=secure.url))
        with pytest.raises(ServerRefused, match="tls_cert"):
            await use(Server(url=secure.url, tls_ca=secure.ca))
        with pytest.raises(ServerRefused, match="use rediss://"):
            await use(Server(url=secure.url.replace("rediss", "redis")))
    with running_redis(*secure.options, "--tls-auth-clients", "no"):
        await use(Server(url=secure.url, tls_ca=secure.ca))


@in_event_loop
async def test_what_is_wrong_with_a_certificate_is_told(tmp_path: Path) -> None:
    secure = Secure(tmp_path)
    other_key, rubbish = tmp_path / "other.pem", tmp_path / "rubbish.pem"
    trustme.CA().private_key_pem.write_to_path(other_key)
    rubbish.write_text("no certificate\n")
    whole = Server(url=secure.url, tls_ca=secure.ca, tls_cert=secure.cert, tls_key=secure.key)
    with running_redis(*secure.options):
        for wrong in ({"tls_key": other_key}, {"tls_ca": rubbish}, {"tls_cert": rubbish}):
            with pytest.raises(ServerRefused, match="in tls_key the key of the second one, all as PEM"):
                await use(msgspec.structs.replace(whole, **wrong))
    for names, holds_until, told in (
        ("other.test", None, "; name the server in the URL as its certificate does"),
        ("127.0.0.1", datetime(2020, 1, 1, tzinfo=UTC), "; give the server a certificate that holds now, or set the"),
    ):
        secure.issue(names, holds_until)
        with running_redis(*secure.options), pytest.raises(ServerRefused, match=told):
            await use(whole)


@in_event_loop
async def test_what_is_wrong_with_a_sentinel_is_told_as_of_any_server(tmp_path: Path) -> None:
    secure = Secure(tmp_path)
    url = f"{secure.url.replace('rediss', 'sentinels')}/links"
    whole = Server(url=url, tls_ca=secure.ca, tls_cert=secure.cert, tls_key=secure.key)
    with pytest.raises(ServerGone, match=r"can't be reached: Error 111 connecting to 127.0.0.1:.*; start it"):
        await use(whole)
    with running_redis(*secure.options, is_sentinel=True):
        with pytest.raises(ServerRefused, match=r"CERTIFICATE_VERIFY_FAILED.*\(tls_ca\)"):
            await use(msgspec.structs.replace(whole, tls_ca=None))
        with pytest.raises(ServerGone, match=r"can't be reached: No master found for 'links'; start it"):
            await use(whole)


@in_event_loop
async def test_a_renewed_certificate_is_used_from_the_next_connection_on(tmp_path: Path) -> None:
    secure = Secure(tmp_path)
    cert, good = secure.cert, secure.cert.read_bytes()
    with running_redis(*secure.options):
        async with connected(Server(url=secure.url, tls_ca=secure.ca, tls_cert=cert, tls_key=secure.key)) as client:
            assert await client.ping()
            cert.write_text("no certificate\n")
            await leave_idle(client)
            with pytest.raises(FAILURES):
                await client.ping()
            cert.write_bytes(good)
            assert await client.ping()


@in_event_loop
async def test_the_nodes_of_a_cluster_are_asked_with_renewed_certificates_too(tmp_path: Path) -> None:
    secure = Secure(tmp_path)
    cert, good = secure.cert, secure.cert.read_bytes()
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--tls-cluster", "yes")
    with running_redis(*secure.options, *options) as server:
        with redis.Redis.from_url(server.url) as client:
            client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            await asyncio.to_thread(wait_until, lambda: client.set("key", "value") is True)
        async with connected(Server(url=secure.url, tls_ca=secure.ca, tls_cert=cert, tls_key=secure.key)) as cluster:
            assert isinstance(cluster, RedisCluster)
            assert await cluster.get("key") == b"value"
            cert.write_text("no certificate\n")
            for node in cluster.get_nodes():
                await node.disconnect()
            with pytest.raises(FAILURES):
                await cluster.get("key")
            cert.write_bytes(good)
            assert await cluster.get("key") == b"value"


@in_event_loop
async def test_the_server_that_sentinels_name_is_asked_with_renewed_certificates_too(tmp_path: Path) -> None:
    secure, port = Secure(tmp_path), free_port()
    cert, good = secure.cert, secure.cert.read_bytes()
    of_master = ["--tls-port", str(port), *secure.options[2:], "--tls-replication", "yes"]
    watches = ("--tls-replication", "yes", "--sentinel", "monitor", "links", "127.0.0.1", str(port), "1")
    url = f"{secure.url.replace('rediss', 'sentinels')}/links"
    with running_redis(*of_master), running_redis(*secure.options, *watches, is_sentinel=True):
        async with connected(Server(url=url, tls_ca=secure.ca, tls_cert=cert, tls_key=secure.key)) as client:
            assert await client.ping()
            cert.write_text("no certificate\n")
            await leave_idle(client)
            with pytest.raises(FAILURES, match="PEM"):
                await client.ping()
            cert.write_bytes(good)
            assert await client.ping()


@in_event_loop
async def test_of_several_servers_one_that_answers_is_enough() -> None:
    down, up = free_port(), free_port()
    with running_redis(port=up):
        for url in (f"redis://127.0.0.1:{down},127.0.0.1:{up}/1", f"redis://127.0.0.1:{up},127.0.0.1:{down}/1"):
            await use(Server(url=url))
    with pytest.raises(ServerRefused, match="can't be reached"):
        await use(Server(url=url))


def test_the_docs_show_the_line_that_gives_permissions() -> None:
    assert permissions("onceover") in Path("docs/parts.md").read_text(encoding="utf-8")


def test_what_has_failed_can_stand_in_a_sentence() -> None:
    errors = (ConnectionError("Connection closed by server."), TimeoutError(), ValueError())
    assert [reason_of(each, 3.0) for each in errors] == [
        "Connection closed by server",
        "it has not answered for 3 s",
        "ValueError",
    ]


@in_event_loop
async def test_what_a_server_refuses_is_said_with_what_to_do_and_without_names_of_scripts() -> None:
    set_it = "return redis.call('SET', KEYS[1], '1')"
    with running_redis() as server:
        async with connected(Server(url=server.url)) as client:

            async def why(*command: str) -> str:
                await client.execute_command(*command)
                with pytest.raises(RedisError) as refused:
                    await client.eval(set_it, 1, "key")
                return reason_of(refused.value)

            assert re.fullmatch(
                "You can't write against a read only replica; .*Sentinels.*", await why("REPLICAOF", "127.0.0.1", "1")
            )
            await client.execute_command("REPLICAOF", "NO", "ONE")
            for lacking in ("-set", "-eval"):
                said = await why("ACL", "SETUSER", "default", lacking)
                assert re.fullmatch(r".* (this user|The user executing the script) .*; give its user .*", f" {said}")
                assert "user_script" not in said


def test_a_password_in_the_url_is_not_shown() -> None:
    assert str(Server(url="redis://user:secret@host:1/2")) == "redis://user@host:1/2"
    assert str(Server(url="redis://:secret@host:1/2")) == "redis://@host:1/2"
    assert str(Server(url="unix:///tmp/redis.sock")) == "unix:///tmp/redis.sock"


def test_a_file_with_a_password_that_is_not_utf_8_is_refused_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(b"\xff")
    settings = ['exchange.backend="redis"', f'exchange.password_file="{tmp_path / "password"}"']
    loaded = load(None, overrides=settings, require_seeds=False)
    with pytest.raises(ConfigError, match=r"exchange\.password_file.*password can't be read: expected UTF-8"):
        redis_server(loaded)


@in_event_loop
async def test_a_password_that_has_changed_is_read_at_the_next_connection(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("first\n")
    options = ("--user", "onceover", "on", "~*", "+@all")
    with running_redis(*options, ">first") as server:
        url = server.url.replace("unix://", "unix://onceover@")
        settings = ['exchange.backend="redis"', f'exchange.url="{url}"', f'exchange.password_file="{file}"']
        async with connected(redis_server(load(None, overrides=settings, require_seeds=False))) as client:
            assert await client.ping()
            server.kill()
            server.start(*options, ">second")
            with pytest.raises(RedisError):
                await client.ping()
            for _ in range(2):
                with pytest.raises(RedisError) as refused:
                    await client.ping()
                assert "write the password that holds now into the file" in reason_of(refused.value)
            file.unlink()
            for _ in range(2):
                with pytest.raises(RedisError, match=f"{file} can't be read: No such file"):
                    await client.ping()
            file.write_text("second\n")
            assert await client.ping()
            assert await client.acl_whoami() == "onceover"


@in_event_loop
async def test_an_empty_file_is_no_password(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("\n")
    with running_redis() as server:
        async with connected(Server(url=server.url, password_file=file)) as client:
            assert await client.ping()
