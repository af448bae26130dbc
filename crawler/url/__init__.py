"""URLs: everything that looks inside one. Pure.

`urls` parses and joins as the WHATWG standard says. `canonical` makes canonical URLs, by which the visited set knows
pages; `canonical_rules` holds its named rules, and `components` the split URL on which they work. `hrefs` resolves
plain hrefs without a parser, in C (`_hrefs`) if it is compiled. `patterns` compiles those of users. `hosts` orders host
names and finds their registered domains. `ports` says which ports a crawl may ask. `seeds` reads what a person wrote.
`descriptor` is what the rest of the program knows of a canonical rule.

Every room may use this one. It imports nothing of ours.
"""
