import base64
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.robots.rules import RobotsRules, read_robots
from crawler.page import NO_USAGE, Page, Preference, Usage
from crawler.preferences.judging import MAX_PREFERENCES, Preferences
from crawler.preferences.signals import PURPOSES, SIGNALS
from crawler.preferences.values import MAX_KEPT_CHARACTERS, read_value
from crawler.read.html.lexbor import lexbor_extractor

CASES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text(encoding="utf-8"))["case"]
EXTRACTOR = lexbor_extractor(agent="onceover")
VALUED = [name for name in SIGNALS if name not in ("robots", "robots-group")]


def page(
    headers: Sequence[Sequence[str]] = (), meta: Sequence[Sequence[str]] = (), content_type: str = "text/html"
) -> Page:
    elements = "".join(f'<meta name="{name}" content="{content}">' for name, content in meta)
    body = f"<!doctype html><html><head>{elements}<title>t</title></head><body>b".encode()
    if content_type == "image/png":
        body = b"\x89PNG\r\n\x1a\n"
    fields = [(b"Content-Type", content_type.encode()), *((a.encode(), b.encode("latin-1")) for a, b in headers)]
    return Page(
        url="http://a.test/page",
        ip="127.0.0.1",
        port=80,
        status=200,
        reason="OK",
        http_version="1.1",
        request_headers=[],
        headers=fields,
        body=body,
        raw_body=body,
        fetched_at=1.0,
        duration_s=0.1,
    )


def judged(case: Mapping[str, Any], purposes: Sequence[str] = (), *, are_respected: bool = True) -> Usage:
    judge = Preferences(purposes, are_respected=are_respected, robots_names={"robots", "onceover"})
    found = page(case.get("headers", ()), case.get("meta", ()), case.get("type", "text/html"))
    text = base64.b64decode(case.get("robots_base64", "")) or case.get("robots", "").encode()
    rules = RobotsRules(read_robots(text), agent="onceover")
    return judge.judge(found, EXTRACTOR.extract(found), of_origin=rules.preferences(case.get("path", "/page")))


@pytest.mark.parametrize("case", CASES, ids=[each["name"] for each in CASES])
def test_what_sites_say_refuses_purposes(case: Mapping[str, Any]) -> None:
    usage = judged(case)
    assert list(usage.refused_for) == case["refused"]
    assert not usage.is_refused
    assert {purpose for each in usage.preferences for purpose in each.refuses} == set(case["refused"])
    for purpose in PURPOSES:
        assert judged(case, [purpose]).is_refused == (purpose in case["refused"]), purpose
        assert not judged(case, [purpose], are_respected=False).is_refused


def test_each_signal_of_the_table_has_a_case_that_refuses_and_each_purpose_is_refused_somewhere() -> None:
    found = [each for case in CASES for each in judged(case).preferences if each.refuses]
    assert {each.signal for each in found} == set(SIGNALS) - {"tdm-policy"}
    assert {purpose for each in found for purpose in each.refuses} == set(PURPOSES)
    assert all(set(refused) <= set(PURPOSES) for each in SIGNALS.values() for refused in each.refuses.values())


def test_a_page_is_refused_only_if_all_purposes_of_the_crawl_are() -> None:
    case = {"headers": [["Content-Usage", "train-ai=n, search=y"]]}
    assert judged(case, ["train-ai"]).is_refused
    both = judged(case, ["search", "train-ai"])
    assert (both.is_refused, both.refused_for) == (False, ("train-ai",))


def test_a_page_of_which_nothing_is_said_costs_no_value() -> None:
    assert judged({}, ["train-ai"]) is NO_USAGE
    assert judged({"meta": [["robots", "index, follow"]]}) is NO_USAGE


def test_what_is_said_is_kept_with_its_place() -> None:
    usage = judged(
        {
            "robots": "User-agent: *\nContent-Usage: /p train-ai=y\n",
            "headers": [["X-Robots-Tag", "noindex"], ["tdm-reservation", "1"]],
            "meta": [["robots", "noimageai"], ["tdm-reservation", "0"], ["tdm-policy", "https://p.test/"]],
        }
    )
    assert set(usage.preferences) == {
        Preference("robots", "meta", "noimageai"),
        Preference("tdm-reservation", "meta", "0"),
        Preference("tdm-policy", "meta", "https://p.test/"),
        Preference("robots", "header", "noindex", ("search",)),
        Preference("tdm-reservation", "header", "1"),
        Preference("content-usage", "robots.txt", "train-ai=y"),
    }


@pytest.mark.parametrize("directive", ["noai", "noimageai"])
def test_images_of_a_page_are_refused_with_it_or_alone(directive: str) -> None:
    case = {"meta": [["robots", directive]]}
    usage = judged(case, ["train-ai"])
    assert (usage.is_refused, usage.refuses_embeds) == (directive == "noai", True)
    assert not judged(case, ["search"]).refuses_embeds
    assert not judged({"headers": [["Content-Usage", "train-ai=n"]]}, ["train-ai"]).refuses_embeds


def test_hostile_values_are_bounded() -> None:
    huge = "train-ai=n, " * 100_000
    [kept] = judged({"headers": [["Content-Usage", huge]]}).preferences
    assert (len(kept.value), kept.refuses) == (MAX_KEPT_CHARACTERS, ())
    many = "User-agent: *\n" + "".join(f"Content-Usage: train-ai=n, x{n}=y\n" for n in range(10_000))
    assert len(judged({"robots": many}).preferences) == MAX_PREFERENCES
    assert (
        judged({"headers": [["Content-Usage", "train-ai=n, é=y"], ["Content-Signal", "\x00\x1b=no"]]}).refused_for == ()
    )
    assert "\x1b" not in judged({"headers": [["Content-Signal", "\x00\x1b=no"]]}).preferences[0].value


def test_no_number_of_permissions_hides_a_refusal() -> None:
    many = "User-agent: *\n" + "".join(f"Content-Usage: train-ai=y, x{n}=y\n" for n in range(MAX_PREFERENCES))
    usage = judged({"robots": f"{many}Content-Signal: ai-train=no\n"}, ["train-ai"])
    assert (usage.is_refused, usage.refused_for, len(usage.preferences)) == (True, ("train-ai",), MAX_PREFERENCES)
    assert usage.message == "content-signal (robots.txt) 'ai-train=no' refuses train-ai"
    rules = RobotsRules(f"{many}Content-Signal: ai-train=no\n", agent="onceover")
    assert Preferences(["train-ai"]).usage(rules.preferences("/page")) == usage


@given(value=st.text(alphabet=st.sampled_from("train-ai=nysearch, ;()\"?@:1.*%$'\\\t\x00é\ud800")) | st.text())
def test_no_value_makes_a_reader_raise(value: str) -> None:
    for signal in VALUED:
        found = read_value(signal, "header", value)
        assert set(found.refuses) <= set(PURPOSES)
        found.value.encode()
    rules = RobotsRules(f"User-agent: *\nContent-Usage: {value}\nContent-Signal: {value}", agent="onceover")
    rules.preferences(f"/{value[:20]}")


@given(
    lines=st.lists(st.sampled_from(["/a", "/a*b", "/*b$", "/", "/a/b", "*", "/%41"]), max_size=8),
    path=st.text("ab/", max_size=8),
)
def test_the_longest_pattern_decides_as_for_allow(lines: list[str], path: str) -> None:
    text = "User-agent: *\n" + "".join(
        f"Content-Signal: {each} ai-train=no\n" for each in lines if each.startswith("/")
    )
    refuses = any(each.refuses for each in RobotsRules(text, agent="onceover").preferences(f"/{path}"))
    disallowing = text.replace("Content-Signal", "Disallow").replace(" ai-train=no", "")
    assert refuses == (not RobotsRules(disallowing, agent="onceover").allows(f"/{path}"))
