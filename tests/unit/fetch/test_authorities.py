"""The authorities of the system are loaded late, and then as `ssl` loads them."""

import asyncio
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from crawler.fetch.connect.tls.contexts import LateAuthorities, importing_late, late_context, tls_context
from tests.certificates import issued


def test_a_late_context_is_like_that_of_ssl() -> None:
    late, prompt = late_context(), ssl.create_default_context()
    for name in ("verify_mode", "check_hostname", "verify_flags", "options", "minimum_version", "keylog_filename"):
        assert getattr(late, name) == getattr(prompt, name), name
    assert late.cert_store_stats() == prompt.cert_store_stats()
    assert late.get_ca_certs(binary_form=True) == prompt.get_ca_certs(binary_form=True)


async def test_the_authorities_are_loaded_for_the_first_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server_context, authority = issued("localhost", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", authority)
    context = tls_context()
    assert isinstance(context, LateAuthorities)
    assert not context.is_loaded
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=server_context)
    port = server.sockets[0].getsockname()[1]
    async with server:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
        writer.close()
        await writer.wait_closed()
    assert context.is_loaded


def test_what_is_imported_late_makes_late_contexts_and_nothing_else_changes(repository: Path) -> None:
    before = ssl.create_default_context, ssl.SSLContext.set_default_verify_paths
    with importing_late():
        assert isinstance(ssl.create_default_context(), LateAuthorities)
        assert not isinstance(ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), LateAuthorities)
    assert (ssl.create_default_context, ssl.SSLContext.set_default_verify_paths) == before
    script = """
from crawler.cli import Commands
Commands()["crawl"]
from aiohttp import connector
from crawler.fetch.connect.tls.contexts import LateAuthorities
assert isinstance(connector._SSL_CONTEXT_VERIFIED, LateAuthorities)
assert not connector._SSL_CONTEXT_VERIFIED.is_loaded
"""
    subprocess.run([sys.executable, "-c", script], cwd=repository, check=True)
