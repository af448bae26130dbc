"""What warcio 1.8 promises, as far as it is used here."""

from typing import BinaryIO

from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders

class WARCWriter:
    def __init__(self, filebuf: BinaryIO, gzip: bool = True, warc_version: str | None = None) -> None: ...
    def create_warc_record(
        self,
        uri: str,
        record_type: str,
        payload: BinaryIO | None = None,
        http_headers: StatusAndHeaders | None = None,
    ) -> ArcWarcRecord: ...
    def write_request_response_pair(self, req: ArcWarcRecord, resp: ArcWarcRecord) -> None: ...
