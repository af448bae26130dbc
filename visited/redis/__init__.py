"""Visited sets in Redis or Valkey, which several crawls may share.

A set is a *form*, the way in which URLs lie in Redis, below `redis_set`, which is the same for all: it finds the set or
begins it, asks only about URLs that its cache lacks, and notices when the server has another memory than before.

    exact        64-bit fingerprints, in many Redis sets of integers: about 9.6 bytes for each URL
    bloom        the server's own Bloom filter
    dsbf         a Bloom filter whose leaves split; its scripts are in dsbf_scripts, its routes in tree
    literature   the forms that books give: one Redis set of MD5 digests, or one key for each URL
    form         what a form is
    redis_set    a set of any form
    making       makes such a set, and gives it a name
    joining      finds a set on its server or begins it, and checks who may ask and who may have it open
    holders      the crawls whose ledgers have URLs of a set; after a loss all must add them before one may ask
    notes        what a crawl keeps of them in its directory
    server       where the server is, and what is asked of a channel to it

Everything about a batch happens in one script: one round trip, and no other crawl comes in between. A script declares
all its keys, and all keys of a set have one hash tag, so a cluster has the set on one node.

The *memory* of a server has a name: the process, the history of its data, and the set. So a restart, a failover and a
flush change it, and whoever asks finds out before anything else happens. A form may have a *layout* that changes as the
set grows: a script that is called with an old one changes nothing and returns the current one.

This room knows the commands of Redis, but no client: `Parameters.connect` makes the channel.
"""
