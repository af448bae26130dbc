"""What a frontier promises when it is one part of a crawl, and in which form links travel.

`protocol` has the promises, and says what a part, a parcel and an incarnation are. `parcels` writes and reads parcels:
the URLs that one transition has found for another part, as bytes.

`frontier.part_links` keeps the promises over a store; `frontier.sending` fills the outbox. `crawler.parts` carries
parcels from one part to another, and knows nothing but the protocol.
"""
