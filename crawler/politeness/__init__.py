"""Decides when the crawl may ask a server, and whether it tries a URL again. Pure, except that `spaced_requests` sends
requests.

`response_policy` says what follows from a response: how long the queue rests, and whether the URL is tried again.
`pace` computes delays and back-off. `hours` says when a host may be asked at all. `slow_threshold` says when a server
is so slow that others need not wait for it. If a host states a Crawl-delay or answers with Retry-After, `spacing` keeps
its requests apart, however many of its URLs are leased, and `spaced_requests` sends them. `lease_requests` makes the
request for a leased URL. `plain_http` tries http for a seed that names no scheme, if its host has no https.
"""
