"""Fetches, caches and obeys robots.txt.

`robots_txt` fetches the file of a host once, however many callers ask, through any fetcher. It follows redirects as RFC
9309 requires. `status` decides what a response means and for how long, `rules` what the file says to this crawler;
`groups` reads its groups. `cache` holds both in memory and over restarts. `crawl_delays` combines the delays of all
ports of a host. `patterns` has the patterns of paths, `occurrences` finds their texts in a path, and `usage_rules` has
what a file says about the use of pages. `tdm_file` asks for another file about that, beside robots.txt, and `tdm_rules`
reads it.
"""
