"""Decides for a crawl in parts as a whole. It knows each part by what that says, and not where its process runs.

coordinator   hears all parts, and ends them together
watched_part  what it knows of a part, over all its processes
reporter      notes what parts say of themselves, and tells people
ending        asks the parts whether the crawl is complete
given         the configuration that parts get, and what the coordinator does by it: which parts are being opened, and
              limits of bytes and seconds, which are those of the crawl and not of a part
"""
