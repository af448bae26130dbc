"""What of a crawl can change while it runs.

`holding` says for each setting whether a change holds at once, or needs a restart, or can't be made. `values` are those
that can be replaced: they are made anew from a changed configuration, all of them, and then exchanged in one step.
`live` does that for an open crawl.

The components that use replaceable values ask for them each time. So a change holds for what begins after it: the URLs
that are leased, the links that are judged, the rests that start. A rest that has begun lasts as long as it was told to.
"""
