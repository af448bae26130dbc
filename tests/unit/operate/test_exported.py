"""Lines of an export, as an import reads them."""

import pytest

from crawler.operate.actions.exported import read_line

URL = '"url": "http://a.test/"'


@pytest.mark.parametrize(
    "field",
    [
        '"precedence": 256',
        '"precedence": -1',
        '"depth": -1',
        '"depth": 18446744073709551615',
        '"status": 9223372036854775808',
        '"queue": "a\\u0000b"',
        '"found_at": 1e300',
        '"found_at": -1',
        '"fetched_at": "9999-12-31T23:59:59-23:00"',
        '"fetched_at": "0001-01-01T00:00:00Z"',
    ],
)
def test_a_line_that_no_crawl_could_store_or_show_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_line(f"{{{URL}, {field}}}")


def test_a_line_at_the_limits_is_read() -> None:
    last = '"fetched_at": "9999-12-30T23:59:59Z", "found_at": "1970-01-01T00:00:00Z"'
    line = read_line(f'{{{URL}, {last}, "precedence": 255, "depth": 0, "status": 999}}')
    assert (line.precedence, line.status) == (255, 999)
