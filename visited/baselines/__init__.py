"""The sets of the crawling literature, for comparison.

`per_site` gives each site a filter of fixed size (Internet Archive 1997, Apoidea); `site_filters` holds these filters.
`raw_urls` is a Python set of URLs. `fingerprints` is a table of 64-bit hashes. `six_seeds` is a filter with six
multiplicative hashes, `mitz_32` one with double hashing in 32 bits, and `salted_md5` a counting filter with salted MD5;
`numpy_filter` is what these three share.
"""
