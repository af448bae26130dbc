"""Finds headers by name.

wanted   the headers of a response that somebody wants
"""

from crawler.page.headers.wanted import wanted_headers

__all__ = ["wanted_headers"]
