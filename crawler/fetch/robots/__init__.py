"""robots.txt: asked for, kept, and obeyed.

`robots_txt` fetches the file of a host once, however many ask, through any fetcher. It follows redirects, as RFC 9309
wants. `status` decides what an answer means and for how long, `rules` what the file says to this crawler, `cache` keeps
both in memory and over restarts. `crawl_delays` combines the delays of all ports of a host.
"""
