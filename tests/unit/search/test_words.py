"""What a person types into a search."""

import sqlite3
import unicodedata
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.search.words import MOST_WORDS, TOKENIZER, BadQuery, read_query, separated

PAGES = {
    1: ("Red shoes", "/shop/red", "Shoes of a red that lasts. Crème brûlée."),
    2: ("Blue shoes", "/shop/blue", "These shoes are blue; the red ones are elsewhere."),
    3: ("Hats", "/shop/hats", "A hat, not a shoe."),
    4: ("東京の地図", "/ja", "東京都の地図です。Python3入門"),
    5: ("คู่มือ", "/th", "ภาษาไทยเป็นภาษา"),
    6: ("한국어", "/ko", "대한민국의 수도는 서울입니다"),
    7: ("हिन्दी", "/hi", "काल और आज"),
    8: ("Ёлка", "/ru", unicodedata.normalize("NFD", "Тёплый край")),
}


@pytest.fixture(scope="module")
def table() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.execute(f'CREATE VIRTUAL TABLE words USING fts5(title, path, text, tokenize="{TOKENIZER}")')
    for number, texts in PAGES.items():
        database.execute(
            "INSERT INTO words (rowid, title, path, text) VALUES (?, ?, ?, ?)", (number, *map(separated, texts))
        )
    return database


@pytest.mark.parametrize(
    ("query", "pages"),
    [
        ("red shoes", [1, 2]),
        ('"red shoes"', [1]),
        ('"shoes are blue', [2]),
        ("SHOES", [1, 2]),
        ("shoe*", [1, 2, 3]),
        ('"a sho"*', [3]),
        ("red -blue", [1]),
        ('shoes -"red ones"', [1]),
        ("hats OR blue", [2, 3]),
        ("shoes hats OR blue", [2]),
        ("shoes AND red", [1, 2]),
        ("OR red", [1, 2]),
        ("title:red", [1]),
        ("path:blue OR title:hats", [2, 3]),
        ("creme BRULEE", [1]),
        ("red & shoes", [1, 2]),
        ("red-shoes", [1]),
        ("東京", [4]),
        ("京都", [4]),
        ("都京", []),
        ("Python3", [4]),
        ("入門", [4]),
        ("ไทย", [5]),
        ("민국", [6]),
        (unicodedata.normalize("NFD", "민국"), [6]),
        ("काल", [7]),
        ("कल", []),
        ("हिन्दी", [7]),
        ("हिन्द*", [7]),
        ("тёплый край", [8]),
        (unicodedata.normalize("NFD", "ёлка"), [8]),
        ("NEAR(red shoes)", []),
        ("text:red", []),
        ("red) OR (hats", [1, 2, 3]),
    ],
)
def test_a_query_finds_the_pages_that_it_means(table: sqlite3.Connection, query: str, pages: list[int]) -> None:
    rows = table.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid", (read_query(query).match,))
    assert [number for (number,) in rows] == pages


@pytest.mark.parametrize(
    ("query", "hosts", "hosts_without"),
    [
        ("red", (), ()),
        ("red site:Example.ORG", ("example.org",), ()),
        ("site:a.test red site:b.test -site:c.test", ("a.test", "b.test"), ("c.test",)),
        ("site:bücher.example red", ("xn--bcher-kva.example",), ()),
        ("site:.a.test red", ("a.test",), ()),
        ("site:[::1] red -site:0:0::2", ("::1",), ("::2",)),
    ],
)
def test_a_query_may_name_hosts(query: str, hosts: tuple[str, ...], hosts_without: tuple[str, ...]) -> None:
    found = read_query(query)
    assert (found.hosts, found.hosts_without) == (hosts, hosts_without)
    assert found.match == '(("red"))'


@pytest.mark.parametrize("query", ["", "-red", "&&", "OR", '""', "site:a.test", "title:", "*", "-"])
def test_a_query_without_a_word_is_refused(query: str) -> None:
    with pytest.raises(BadQuery, match="expected a word to look for"):
        read_query(query)


@pytest.mark.parametrize("query", ["red site:", "red site:http://a.test/", 'red site:"a b"', "red site:a.test:80"])
def test_what_is_no_host_is_refused(query: str) -> None:
    with pytest.raises(BadQuery, match="expected a host without a port behind site:"):
        read_query(query)


def test_so_many_words_are_refused() -> None:
    read_query("red " * MOST_WORDS)
    for query in ("red " * (MOST_WORDS + 1), "red " + "site:a.test " * MOST_WORDS):
        with pytest.raises(BadQuery, match="expected up to 100 words, found 101"):
            read_query(query)


@pytest.mark.parametrize("query", ["red\0shoes", "red \udcff"], ids=["nul", "surrogate"])
def test_what_no_index_can_be_asked_is_refused(query: str) -> None:
    with pytest.raises(BadQuery, match="expected words in UTF-8"):
        read_query(query)


@pytest.mark.parametrize(
    ("text", "query", "is_found"),
    [
        ("ёлка", "елка", True),
        ("елка", "Ёлка", True),
        ("край", "краи", False),
        ("ти\u0301хий", "тихий", True),
        ("Ελλάδα", "ελλαδα", True),
        ("ΕΛΛΑΔΑ", "Ελλάδα", True),
        ("שָׁלוֹם", "שלום", True),
        ("שלום", "שָׁלוֹם", True),
        ("\ufb2a\u05dc\u05d5\u05dd", "שלום", True),
        ("مَدْرَسَة", "مدرسة", True),
        ("مـــدرسة", "مَدْرَسَة", True),
        ("ﻣﺪﺭﺳﺔ", "مدرسة", True),
        ("ＡＢＣ１", "abc1", True),
        ("ABC", "ａｂｃ", True),
        ("ｶﾞｲﾄﾞ", "ガイド", True),
        ("ﬁsh", "fish", True),
        ("soft\u00adware", "software", True),
        ("straße", "strasse", True),
        ("STRASSE", "straße", True),
        ("große Straße", '"grosse stra"*', True),
        ("Masse", "maße", True),
        ("IŞIK", "ışık", True),
        ("İstanbul", "istanbul", True),
        (unicodedata.normalize("NFD", "Việt naïve"), "viet naive", True),
        ("Schuhe, Straße", "schuhe -strasse", False),
    ],
)
def test_letters_that_are_the_same_to_people_are_the_same(text: str, query: str, is_found: bool) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f'CREATE VIRTUAL TABLE words USING fts5(title, path, text, tokenize="{TOKENIZER}")')
        database.execute("INSERT INTO words VALUES (?, '', '')", (separated(text),))
        for match in {read_query(query).match, read_query(f"title:{query}").match}:
            rows = database.execute("SELECT rowid FROM words WHERE words MATCH ?", (match,)).fetchall()
            assert bool(rows) is is_found


@given(
    query=st.text()
    | st.lists(st.sampled_from(['"', "*", "-", "OR", "AND", "title:", "a", "京", "(", ")", ":", "\0", " "])).map(
        "".join
    )
)
def test_any_text_is_a_query_or_refused(table: sqlite3.Connection, query: str) -> None:
    try:
        found = read_query(query)
    except BadQuery:
        return
    table.execute("SELECT rowid FROM words WHERE words MATCH ?", (found.match,)).fetchall()
