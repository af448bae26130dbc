"""What warcio 1.8 promises, as far as it is used here."""

from typing import overload

class StatusAndHeaders:
    statusline: str
    headers: list[tuple[str, str]]
    protocol: str
    def __init__(
        self,
        statusline: str,
        headers: list[tuple[str, str]],
        protocol: str = "",
        total_len: int = 0,
        is_http_request: bool = False,
    ) -> None: ...
    @overload
    def get_header(self, name: str, default_value: None = None) -> str | None: ...
    @overload
    def get_header(self, name: str, default_value: str) -> str: ...
    @overload
    def get(self, name: str, default_value: None = None) -> str | None: ...
    @overload
    def get(self, name: str, default_value: str) -> str: ...
    def __getitem__(self, name: str) -> str | None: ...
    def __contains__(self, name: str) -> bool: ...
    def get_statuscode(self) -> str: ...
