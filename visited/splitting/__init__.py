"""A filter that grows without bound at a fixed error rate: `dsbf`.

It is a tree: the leading bits of a URL's hash lead to one leaf, and each leaf is a Bloom filter. A full leaf is rebuilt
larger, or split in two. `leaves` is the tree, and `splitting_set` the set. `leaf_plan` chooses the next leaf to rebuild
and its size: leaves grow and split by their fill, or have one size and split at a number of URLs, as the literature has
it. `leaf_rebuild` rebuilds a leaf in small steps, spread over the calls, so that no batch waits long.

`tree_lists` has what was added to the tree: `fingerprint_list` has all fingerprints, 8 bytes each, on disk, which only
a rebuild reads; `url_list` has the URLs themselves, for filters that can list them. Both are written to a
`block_file`.
`leaf_images` keeps the bits of the leaves on disk, and `leaf_loading` reads the tree back, so that opening is quick.

`tree_losses` estimates what the filter has lost, with a sample of what it has accepted since.
"""
