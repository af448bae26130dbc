"""What of a crawl can change while it runs.

`effect` says for each setting whether a change takes effect at once, needs a restart, or can't be made. `values` are
those that can be replaced: they are made anew from a changed configuration, all of them, and then exchanged in one
step. `live` does that for an open crawl.

The components that use replaceable values ask for them each time. So a change affects what begins after it: the URLs
that are leased, the links that are judged, the rests that start. A rest that has begun keeps its length.
"""
