"""Links that were sent to another part are counted instead, until the part forgets what it has sent."""

from crawler.testing.frontier.crawls import page
from frontier import CrawlUrl
from frontier.sending.sent import SentUrls


def links(*numbers: int) -> list[CrawlUrl]:
    return [page("b", f"{number}") for number in numbers]


def send(sent: SentUrls, *numbers: int) -> list[int]:
    """Links to these pages are found. Returns the pages that are sent."""
    chosen = sent.choose(links(*numbers))
    sent.remember(chosen)
    return [int(url.url.rpartition("/")[2]) for url in chosen]


def test_a_url_is_sent_once_and_the_links_to_it_are_counted() -> None:
    sent = SentUrls()
    [chosen] = sent.choose(links(1, 1, 1))
    assert chosen.link_count == 3  # one page may link to it more than once
    sent.remember([chosen])
    assert send(sent, 1, 1) == send(sent, 1) == []
    assert [url.link_count for url in sent.take_spared()] == [3]
    assert sent.spared == 0


def test_it_remembers_at_least_so_many_and_at_most_twice_as_many() -> None:
    sent = SentUrls(max_sent=3)
    assert send(sent, 1, 2, 3) == [1, 2, 3]
    assert send(sent, 4) == [4]
    assert send(sent, 1, 2, 3, 4) == []  # they are old now
    for number in range(10, 30):
        assert send(sent, number) == [number]
        assert send(sent, 1) == []  # what is linked again and again is never forgotten
    assert send(sent, 2) == [2]


def test_it_forgets_old_and_young_ones_and_keeps_their_counts() -> None:
    sent = SentUrls(max_sent=2)
    assert send(sent, 1, 2, 3) == [1, 2, 3]
    assert send(sent, 4) == [4]
    assert send(sent, 1, 4) == []
    sent.forget()
    assert send(sent, 1, 2, 3, 4) == [1, 2, 3, 4]
    assert sent.spared == 2


def test_too_many_counts_travel_with_the_next_links() -> None:
    sent = SentUrls(max_spared=50)
    send(sent, *range(60))
    assert send(sent, *range(50)) == []
    assert sent.spared == 50
    again = send(sent, 50)
    assert again == list(range(33))  # the oldest: one for the new count, and some more
    assert sent.spared == 51 - 33
