"""URLs: everything that looks inside one. Pure.

`urls` parses and joins as the WHATWG standard says. `canonical` holds the named rules that give a URL the form by which
the visited set knows it. `hrefs` resolves plain hrefs without a parser, in C (`_hrefs`) where it is compiled. `hosts`
orders host names and finds their registered domains. `ports` says which ports
may be asked. `canonical_2` keeps the rules of version 2, for crawls that began with them.

Every room may use this one. It imports nothing of ours.
"""
