"""Which form the reply to each request has."""

from collections.abc import Mapping
from typing import Final

import msgspec

from crawler.control import frozen, known_urls, replies, requests
from crawler.control.requests import AnyRequest
from crawler.control.selections import Selected
from visited import VisitedStats

REPLY_TYPES: Final[Mapping[type[AnyRequest], type[msgspec.Struct]]] = {
    requests.GetStatus: replies.CrawlStatus,
    requests.Pause: replies.PauseState,
    requests.Resume: replies.PauseState,
    requests.Stop: replies.Stopping,
    requests.TakeCheckpoint: replies.Checkpoint,
    requests.Freeze: frozen.Frozen,
    requests.HoldParcels: frozen.Held,
    requests.Add: replies.Judged,
    requests.Forget: replies.Judged,
    requests.ForgetSelected: Selected,
    requests.Recrawl: Selected,
    requests.Retire: replies.Changed,
    requests.Unretire: replies.Changed,
    requests.SetBudget: replies.Changed,
    requests.Set: replies.Reconfigured,
    requests.Reload: replies.Reconfigured,
    requests.InspectUrl: known_urls.UrlFound,
    requests.InspectQueues: replies.QueueList,
    requests.InspectNext: replies.NextList,
    requests.InspectVisited: VisitedStats,
    requests.InspectRefused: replies.RefusedList,
    requests.InspectRobots: replies.RobotsList,
    requests.Top: replies.HostList,
    requests.Export: replies.ExportPiece,
    requests.Import: replies.Imported,
}

READS: Final = (
    requests.GetStatus,
    requests.InspectUrl,
    requests.InspectQueues,
    requests.InspectNext,
    requests.InspectVisited,
    requests.InspectRefused,
    requests.InspectRobots,
    requests.Top,
    requests.Export,
)
"""Requests that change nothing."""
