"""Which request does what."""

from http import HTTPStatus
from typing import Final

from crawler.serve.api.actions import Actions
from crawler.serve.api.data import asking, exports, reading, settings
from crawler.serve.api.events.streaming import EVENT_STREAM, stream_events
from crawler.serve.api.measured import show_history
from crawler.serve.api.route import BASE, NAMED, Route

_HOST: Final = f"{NAMED}/hosts/{{host}}"
_EXPORT: Final = f"{NAMED}/exports/{{export}}"
_LATE: Final = (HTTPStatus.GATEWAY_TIMEOUT,)
_READS: Final = (HTTPStatus.CONFLICT,)
"""A crawl may not have begun."""
_ASKS: Final = (*_READS, *_LATE)
"""Nor may it answer."""
_DELETES: Final = (HTTPStatus.CONFLICT,)
"""What still runs is kept."""
_CREATES: Final = (HTTPStatus.CONFLICT, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)

ROUTES: Final = (
    Route("GET", f"{BASE}/crawls", Actions.list_crawls),
    Route("GET", NAMED, Actions.show_crawl),
    Route("GET", f"{NAMED}/history", show_history, _READS),
    Route("PUT", NAMED, Actions.create_crawl, _CREATES, takes_toml=True),
    Route("DELETE", NAMED, Actions.delete_crawl, _DELETES, HTTPStatus.NO_CONTENT),
    Route("POST", f"{NAMED}/start", Actions.start_crawl, status=HTTPStatus.ACCEPTED),
    Route("POST", f"{NAMED}/stop", Actions.stop_crawl, status=HTTPStatus.ACCEPTED),
    Route("POST", f"{NAMED}/pause", Actions.pause_crawl, _LATE),
    Route("POST", f"{NAMED}/resume", Actions.resume_crawl, _LATE),
    Route("POST", f"{BASE}/reload", Actions.reload),
    Route("GET", f"{BASE}/events", stream_events, streams=EVENT_STREAM),
    Route("GET", f"{NAMED}/status", asking.show_status, _ASKS),
    Route("GET", f"{NAMED}/hosts", asking.list_hosts, _ASKS),
    Route("POST", f"{_HOST}/retire", asking.retire_host, _ASKS),
    Route("POST", f"{_HOST}/unretire", asking.unretire_host, _ASKS),
    Route("POST", f"{_HOST}/budget", asking.set_budget, _ASKS),
    Route("GET", f"{NAMED}/queues", asking.list_queues, _ASKS),
    Route("GET", f"{NAMED}/visited", asking.show_visited, _ASKS),
    Route("GET", f"{NAMED}/refused", asking.list_refused, _ASKS),
    Route("POST", f"{NAMED}/seeds", asking.add_seeds, _ASKS),
    Route("POST", f"{NAMED}/recrawl", asking.recrawl, _ASKS),
    Route("POST", f"{NAMED}/forget", asking.forget, _ASKS),
    Route("POST", f"{NAMED}/forget-selected", asking.forget_selected, _ASKS),
    Route("POST", f"{NAMED}/checkpoint", asking.take_checkpoint, _ASKS),
    Route("GET", f"{NAMED}/url", reading.show_url, _ASKS),
    Route("GET", f"{NAMED}/pages", reading.list_pages, _READS),
    Route("GET", f"{NAMED}/report", reading.show_report, _ASKS),
    Route("GET", f"{NAMED}/report.html", reading.show_report_page, _ASKS, streams="text/html"),
    Route("GET", f"{NAMED}/search", reading.search_pages, _ASKS),
    Route("GET", f"{NAMED}/diff", reading.show_diff, _ASKS),
    Route("GET", f"{NAMED}/log", reading.show_log, _READS),
    Route("GET", f"{NAMED}/configuration", reading.show_configuration, _READS),
    Route("POST", f"{NAMED}/configuration", settings.change_settings, _ASKS),
    Route("GET", f"{NAMED}/configuration/text", settings.show_configuration_text, _READS),
    Route("POST", f"{NAMED}/configuration/text", settings.change_configuration_text, _ASKS),
    Route("POST", f"{NAMED}/reload", settings.reload_crawl, _ASKS),
    Route("GET", f"{NAMED}/exports", exports.list_exports),
    Route("POST", f"{NAMED}/exports", exports.start_export, status=HTTPStatus.ACCEPTED),
    Route("GET", _EXPORT, exports.show_export),
    Route("POST", f"{_EXPORT}/cancel", exports.cancel_export, status=HTTPStatus.ACCEPTED),
    Route("DELETE", _EXPORT, exports.delete_export, _DELETES, HTTPStatus.NO_CONTENT),
    Route("GET", f"{_EXPORT}/file", exports.download_file, streams=exports.FILE, has_ranges=True),
)
