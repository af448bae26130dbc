"""Packs the archive of a crawl into one file that replays without anything else: WACZ 1.1.1.

Source: https://specs.webrecorder.net/wacz/1.1.1/. A WACZ is a ZIP of WARC files as they are, an index of them, a list
of pages, and `datapackage.json` with the digests of all.

    index       the captures of all files in the order of their keys, in blocks, and what revisit records lack
    package     writes members of the ZIP, with their digests
    packing     packs a crawl
    unpacking   takes WARC files out of the packages of earlier crawls

Records of pages are read before the archive. A page is archived before its record is written, so each page in the list
is in the archive, also while the crawl runs.
"""
