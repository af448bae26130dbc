"""What sites say their pages may be used for: which signals there are, how they are read, and what they refuse. Pure.

    signals      the one table: signals, versions of their documents, and the purposes that each value refuses
    values       reads the values of signals
    directives   reads the directives of a robots <meta> or X-Robots-Tag
    judging      combines all that is said about a page, and tells whether the crawl may keep it

Signals are in robots.txt, in headers, in <meta> elements and in `tdmrep.json`. The code that reads one of these makes a
`Preference` of each statement; `Preferences` combines them. One refusal outweighs all permissions, and silence refuses
nothing. A value that can't be read says nothing; no value makes a reader raise.

A new version of a draft is a change of `signals`.
"""
