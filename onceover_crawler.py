"""Starts the command `onceover`, also as `python -m onceover_crawler`.

The packages of this program have common names: `config`, `crawler`, `frontier`, `visited`. Python prefers modules of
these names beside a script or in PYTHONPATH to ours. This module has a name of its own, so it can tell about that.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

_USAGE = 2


def main() -> None:
    """Run the command, and end the process with its exit code."""
    root = Path(__file__).resolve().parent
    spec = find_spec("crawler")
    found = None if spec is None else spec.origin
    if found is not None and Path(found).resolve().parents[1] != root:
        sys.exit(
            _refusal(
                f"{found} hides the package 'crawler' of onceover, which is in {root}: rename it, or move it "
                "out of the folder of the script and out of PYTHONPATH"
            )
        )
    try:
        from crawler.start import main as start  # noqa: PLC0415 - may be hidden until here
    except ImportError as error:
        if error.name not in ("config", "frontier", "visited"):
            raise
        sys.exit(_refusal(str(error)))
    start()


def _refusal(message: str) -> int:
    sys.stderr.write(f"onceover: {message}\n")
    return _USAGE


if __name__ == "__main__":
    main()
