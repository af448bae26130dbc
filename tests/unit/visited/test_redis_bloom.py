"""What is sent to a server's own Bloom filter, and how its refusals are read."""

import pytest

from visited import Unavailable
from visited.redis.bloom import BloomForm
from visited.redis.form import Place

FORM = BloomForm(Place(tag="{t}"), capacity=1000, error_rate=1e-9)
PROBE, CHECK = FORM.probe()


def test_a_batch_is_one_call_with_all_its_keys_and_sixteen_bytes_for_each_url() -> None:
    step = FORM.add(["http://a.example/", "\ud800"], "id")
    assert step.keys == ["{t}:set", "{t}:bloom"]
    first, *urls = step.arguments
    assert first == "id"
    assert [len(each) for each in urls if isinstance(each, bytes)] == [16, 16]
    asked = FORM.ask(["http://a.example/"], "id")
    assert asked.arguments == step.arguments[:2]
    assert asked.script != step.script


def test_rates_are_sent_as_they_are_and_the_heads_are_taken() -> None:
    layout = {name: str(value) for name, value in FORM.first_layout().items()}
    assert layout == {"capacity": "1000", "error_rate": "1e-09"}
    other = BloomForm(Place(tag="{t}"), capacity=5, error_rate=0.5)
    other.adopt(layout)
    assert other.accuracy(1).rate == 1e-9
    assert other.accuracy(0).rate == 0.0


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("ERR Unknown Redis command called from script script: 1f, on @user_script:2.", "choose redis-exact"),
        ("ERR unknown command 'BF.EXISTS'", "choose redis-exact"),
        ("NOPERM User x has no permissions to run the 'bf.exists' command", r"\+bf.insert"),
        ("ERR ACL failure in script: User x has no permissions to run the 'bf.exists' command", r"\+bf.insert"),
        ("WRONGTYPE Operation against a key", "refuses: WRONGTYPE"),
    ],
)
def test_a_refusal_says_what_to_do(said: str, words: str) -> None:
    with pytest.raises(Unavailable, match=words):
        CHECK(said.encode())


def test_a_server_that_has_the_commands_is_used() -> None:
    assert PROBE.keys == ["{t}:bloom"]
    CHECK(b"")
