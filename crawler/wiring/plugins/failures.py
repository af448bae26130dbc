"""What a plug-in may do wrong while the crawl runs."""


class PluginFailed(Exception):
    """A plug-in raised what it must not raise, or returned a wrong value. The message is one line; the traceback is in
    the log."""
