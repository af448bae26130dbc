"""The reference store: dictionaries. A crawl that is kept in it ends with the process.

`store` implements the protocol `frontier.store.Store`, with a journal that is always empty. `reads` has the tables and
how they are read, `notes` small values for the crawler.

`frontier.states` makes a backend of it. Tests use it where no disk is needed.
"""
