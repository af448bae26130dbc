"""A filter that grows without bound at a fixed error rate: `dsbf`.

It is a tree: fresh bits of the hash lead to one leaf, and each leaf is a Bloom filter. A leaf that is full is rebuilt
larger, or split in two. `leaves` is the tree, `leaf_plan` says which leaf is rebuilt next and how large, `leaf_rebuild`
does it piece by piece, so that no batch waits long. `leaf_list` keeps all fingerprints on disk, 8 bytes each, and is
read only for a rebuild; `leaf_images` keeps the bits of the leaves, so that opening is quick. `stand_ins` follows a
sample of URLs, to tell how much of what was lost a later sight has accepted.
"""
