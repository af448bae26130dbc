"""What an operator does to a crawl, whether it runs or not: status, pause, resume, stop, add, forget, retire, unretire,
budget, top.

Each command makes a request, asks the crawl (`crawler.operate.reach`) and prints the reply.
"""
