"""The part of the build that pyproject.toml can't say: an extension module that may be missing."""

from pathlib import Path

from setuptools import Extension, setup

KERNEL = "visited/_kernel.c"

kernel = Extension(
    "visited._kernel",
    sources=[KERNEL],
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    py_limited_api=True,
    # Without a compiler or Python.h everything works, only slower.
    optional=True,
)

if Path(__file__).with_name("visited").joinpath("_kernel.c").exists():
    setup(ext_modules=[kernel], options={"bdist_wheel": {"py_limited_api": "cp311"}})
else:
    setup()
