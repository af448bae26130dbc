"""wget2: fetches a site recursively, writes each page to a file, and keeps its queue in memory.

`python -m tests.bench.peers.wget2 SEED DIR PORT HOST...`: it stays on these hosts, and sends every request to
127.0.0.1:PORT as to a proxy, because it takes no addresses of names. Prints {"pages": n, "seconds": s} as JSON; only
HTML pages count.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

WGET2 = shutil.which("wget2")


def crawl(seed: str, directory: Path, port: int, hosts: Sequence[str]) -> int:
    """Fetch a site into a directory; the number of its pages."""
    if WGET2 is None:
        raise FileNotFoundError("wget2 is not installed: apt-get install wget2")
    command = [WGET2, "--recursive", "--level=inf", f"--domains={','.join(hosts)}", f"--http-proxy=127.0.0.1:{port}"]
    command += ["--robots=off", "--max-threads=16", "--quiet", "--adjust-extension", f"--directory-prefix={directory}"]
    ended = subprocess.run([*command, seed], check=False).returncode
    if ended not in (0, 8):  # 8: the server answered some requests with an error
        raise RuntimeError(f"wget2 ended with {ended}")
    return sum(1 for _ in directory.rglob("*.html"))


def main() -> None:
    seed, directory, port, *hosts = sys.argv[1:]
    began = time.perf_counter()
    pages = crawl(seed, Path(directory), int(port), hosts)
    sys.stdout.write(json.dumps({"pages": pages, "seconds": time.perf_counter() - began}) + "\n")


if __name__ == "__main__":
    main()
