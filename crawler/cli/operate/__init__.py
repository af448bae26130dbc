"""What an operator does to a crawl, whether it runs or not.

Most commands make a request, ask the crawl (`crawler.operate.reach`) and print the reply.
"""
