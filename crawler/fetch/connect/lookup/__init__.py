"""Looks up names.

dns        asks name servers without threads
late       loads what that needs for the first name
answers    what they said, for its time to live, and for a day longer in case that they fail
questions  asks about each name once at a time, of a bounded number of names at once
ahead      looks up the hosts that are soon needed
"""
