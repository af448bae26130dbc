"""Values written as TOML, and the lines on which keys are found."""

import datetime as dt
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.loading.lines import Lines
from config.toml import MAX_PARTS, parse_toml, toml_value

texts = st.text(st.characters(codec="utf-8"))
scalars = st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))


@given(values)
def test_a_value_that_is_written_reads_as_the_same_value(value: object) -> None:
    assert tomllib.loads(f"v = {toml_value(value)}")["v"] == value


def test_a_pattern_is_written_without_doubled_backslashes() -> None:
    assert toml_value([r"\.iso$", 'a"b']) == r"""['\.iso$', "a\"b"]"""


def test_what_only_stands_in_messages_is_written_too() -> None:
    assert toml_value(dt.date(2024, 1, 31)) == '"2024-01-31"'
    assert toml_value(1 << 20_000).startswith("0x1000")


TEXT = '''\
extends = "broad"
fetch.timeout_s = 5   # dotted

[crawl]
seeds = [
    "https://a.test/",
    "https://a.test/b",
    "https://\\u0061.test/escaped",
]
"name" = "x"
note = """
directory = "not a key"
[output]
"""

[ politeness ]
min_delay_s=1

[fetch.hosts]
"*.sim.test" = "127.0.0.1"
'a.test'     = "127.0.0.2"
'''
TEXT_AFTER = "\n[output]\nrecords = true\n[limits]\n"


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("extends",), 1),
        (("fetch", "timeout_s"), 2),
        (("fetch",), 2),
        (("crawl",), 4),
        (("crawl", "seeds"), 5),
        (("crawl", "name"), 10),
        (("crawl", "note"), 11),
        (("crawl", "directory"), 4),
        (("politeness", "min_delay_s"), 17),
        (("fetch", "hosts"), 19),
        (("fetch", "hosts", "*.sim.test"), 20),
        (("fetch", "hosts", "a.test"), 21),
        (("output", "records"), 24),
        (("limits",), 25),
        (("limits", "pages"), 25),
        (("scope",), None),
    ],
)
def test_a_key_is_found_on_its_line(path: tuple[str, ...], line: int | None) -> None:
    text = TEXT + TEXT_AFTER
    tomllib.loads(text)
    assert Lines(text).of(*path) == line


def test_quotes_in_a_comment_begin_no_text() -> None:
    text = '# Not """, but\n# that\'s it: key = 1\n[crawl]\nseeds = []\n'
    assert Lines(text).of("crawl", "seeds") == 4
    assert Lines(text).of("key") is None


def test_each_item_of_a_list_is_found_on_its_line() -> None:
    items = tomllib.loads(TEXT)["crawl"]["seeds"]
    assert Lines(TEXT).of_items(items, "crawl", "seeds") == [6, 7, 5]


def test_items_that_are_written_twice_have_lines_of_their_own() -> None:
    assert Lines('x = [\n"a",\n"b", "a",\n"a",\n]').of_items(["a", "b", "a", "a"], "x") == [2, 3, 3, 4]


DEEP = ".".join(["a"] * (MAX_PARTS + 1))


@pytest.mark.parametrize(
    "text",
    [
        f"{DEEP} = 1",
        f"x = 1\n[{DEEP}]",
        f"[[ {DEEP} ]]",
        "x = { " + " . ".join(["'a'"] * (MAX_PARTS + 1)) + " = 1 }",
        '"\\"".' + DEEP,
        f"x = '''a'''''\n{DEEP} = 1",
        f'x = """a\\""""\n{DEEP} = 1',
        f"x = '#'\n{DEEP} = 1",
        "a." * 400_000 + "a = 1",
    ],
    ids=range(9),
)
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(text: str) -> None:
    with pytest.raises(ValueError, match=rf"expected a key of at most {MAX_PARTS} parts, found more \(at line"):
        parse_toml(text)


@pytest.mark.parametrize(
    "text",
    [
        f"x = '{DEEP}'",
        f'x = "\\"{DEEP}"',
        f'x = """\n"{DEEP}"""""',
        f"x = '''\n'{DEEP}'''''",
        f"# {DEEP} = 1",
        f"x = 1  # '\ny = '{DEEP}'",
        f"{DEEP[2:]} = 1",
    ],
)
def test_texts_and_comments_may_have_any_number_of_dots(text: str) -> None:
    assert parse_toml(text) == tomllib.loads(text)


@given(values)
def test_other_texts_are_parsed_as_the_standard_library_does(value: object) -> None:
    text = f"v = {toml_value(value)}"
    assert parse_toml(text) == tomllib.loads(text)
