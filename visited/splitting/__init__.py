"""A filter that grows without bound at a fixed error rate: `dsbf`.

It is a tree: the leading bits of a URL's hash lead to one leaf, and each leaf is a Bloom filter. A full leaf is rebuilt
larger, or split in two. `leaves` is the tree. `leaf_plan` chooses the next leaf to rebuild and its size. `leaf_rebuild`
rebuilds it in small steps, so that no batch waits long.

`leaf_list` holds all fingerprints, 8 bytes each, in a `run_file` on disk; only a rebuild reads them. `leaf_images`
keeps the bits of the leaves on disk, and `leaf_loading` reads the tree back, so that opening is quick. `loss_sample`
estimates how many of the lost URLs the filter has accepted since.
"""
