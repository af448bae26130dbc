"""Puts a crawl together: the one room that names concrete classes.

Each part gets plain values; none sees the configuration.
"""
