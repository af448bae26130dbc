"""Asks the visited set which URLs are new: one in this process (`asking`), or one on a server (`shared`).

One on a server outlives the process, may forget, and may be away. So what is asked is written first, and the crawl
waits while the server is away. What is not certain, the ledger decides. Between questions, `shared` also notices that
the server has forgotten URLs.
"""
