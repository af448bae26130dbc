"""Sets of other libraries, for comparison.

`foreign` gives them our protocol, as far as they can keep it: they know neither their rate nor their memory, and have
no snapshots. `libraries` makes one for each library, if it is installed. A crawl can't use them.
"""
