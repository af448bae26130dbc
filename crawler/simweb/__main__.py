"""`python -m crawler.simweb`: a server in a process of its own, for tests and benchmarks."""

import argparse
import asyncio
import os
import sys
from pathlib import Path

import msgspec
import uvloop

from crawler.simweb.params import WorldParams, bench_params, demo_params
from crawler.simweb.process import Connections, serve_until_stopped


def main(arguments: list[str]) -> int:
    """Returns the exit code: 0 when stopped, 1 if it can't serve, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m crawler.simweb",
        description="Serve a simulated web on loopback until SIGTERM. The first line on stdout is the port.",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--params", metavar="JSON", help='fields of WorldParams, as {"hosts": 3}; the demo by default')
    kind.add_argument("--bench", metavar="PAGES", type=int, help="a web of this many plain pages")
    parser.add_argument("--port", type=int, default=0, help="the port; 0, the default, means a free one")
    parser.add_argument("--port-file", type=Path, metavar="FILE", help="also write the port to this file")
    parser.add_argument("--log", type=Path, metavar="FILE", help="requests, one JSON object per line")
    parser.add_argument(
        "--cache-bytes", type=int, default=64_000_000, metavar="N", help="for responses cached in memory"
    )
    parser.add_argument(
        "--certificate", type=Path, metavar="FILE", help="speak TLS with this key and chain of certificates, in PEM"
    )
    parser.add_argument("--close", action="store_true", help="close each connection after one response")
    parser.add_argument("--cpu", type=int, metavar="N", help="run on this core only")
    parser.add_argument("--stop-with-stdin", action="store_true", help="stop when stdin ends")
    options = parser.parse_args(arguments)
    try:
        params = _params(options.params, options.bench)
    except ValueError as error:
        parser.error(str(error))
    if options.cpu is not None:
        os.sched_setaffinity(0, {options.cpu})
    serving = serve_until_stopped(
        params,
        port=options.port,
        log_path=options.log,
        port_file=options.port_file,
        cache_bytes=options.cache_bytes,
        connections=Connections(certificate=options.certificate, keep_alive=not options.close),
        stop_at_end_of_stdin=options.stop_with_stdin,
    )
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serving)
    except OSError as error:
        sys.stderr.write(f"can't serve the simulated web on port {options.port}: {error}\n")
        return 1
    return 0


def _params(params_json: str | None, bench_pages: int | None) -> WorldParams:
    if bench_pages is not None:
        return bench_params(bench_pages)
    return demo_params() if params_json is None else msgspec.json.decode(params_json, type=WorldParams)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
