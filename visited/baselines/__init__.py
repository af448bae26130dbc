"""The sets of the crawling literature, as they were described, to compare against.

`per_site` gives each site a filter of fixed size (Internet Archive 1997, Apoidea). `raw_urls` is a Python set of URLs.
`fingerprints` is a table of 64-bit hashes. `six_seeds` is a filter with six multiplicative hashes, `salted_md5` a
counting filter with salted MD5.
"""
