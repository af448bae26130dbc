"""The part of the build that pyproject.toml can't say: extension modules that may be missing."""

from pathlib import Path

from setuptools import Extension, setup

ROOT = Path(__file__).parent


def files(pattern: str) -> list[str]:
    """Paths of the C code, from here."""
    rooms = ("crawler", "frontier", "visited")
    return sorted(path.relative_to(ROOT).as_posix() for room in rooms for path in (ROOT / room).rglob(pattern))


extensions = [
    Extension(
        source.removesuffix(".c").replace("/", "."),
        sources=[source],
        depends=files("_*.h"),
        define_macros=[("Py_LIMITED_API", "0x030B0000")],
        py_limited_api=True,
        # Without a compiler or Python.h everything works, only slower.
        optional=True,
    )
    for source in files("_*.c")
]

if extensions:
    setup(ext_modules=extensions, options={"bdist_wheel": {"py_limited_api": "cp311"}})
else:
    setup()
