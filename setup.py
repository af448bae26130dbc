"""The part of the build that pyproject.toml can't say: extension modules that may be missing."""

from pathlib import Path

from setuptools import Extension, setup

SOURCES = (
    "frontier/link_table/_link_table.c",
    "visited/bits/_kernel.c",
    "crawler/page/_digests.c",
    "crawler/page/headers/_wanted.c",
    "crawler/fetch/connect/_heads.c",
    "crawler/url/_hrefs.c",
    "crawler/discover/links/_bulk.c",
    "crawler/read/elements/_markup.c",
    "crawler/read/encoding/_words.c",
    "crawler/read/html/_scan.c",
    "crawler/read/similarity/_simhash.c",
    "crawler/repeats/_similar.c",
    "crawler/write/_warc_members.c",
)

HEADERS = sorted(str(header) for source in SOURCES for header in Path(source).parent.glob("_*.h"))

extensions = [
    Extension(
        source.removesuffix(".c").replace("/", "."),
        sources=[source],
        depends=HEADERS,
        define_macros=[("Py_LIMITED_API", "0x030B0000")],
        py_limited_api=True,
        # Without a compiler or Python.h everything works, only slower.
        optional=True,
    )
    for source in SOURCES
]

if all(Path(__file__).parent.joinpath(source).exists() for source in SOURCES):
    setup(ext_modules=extensions, options={"bdist_wheel": {"py_limited_api": "cp311"}})
else:
    setup()
