"""Sends links to the parts of a crawl that they belong to.

`outgoing` divides a page's links among the parts, packs those of other parts into parcels, and knows which parcels are
in the outbox. `sent` spares links that were sent before: it is a cache, and may forget at any time. A URL enters it
when its parcel has been written.

The transitions call this room. It knows the protocol of a store, but no store.
"""
