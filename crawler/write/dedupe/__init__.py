"""Which bodies are archived already, so that a revisit record is enough for another copy.

    sources     reads the responses that the indexes of archives name
    originals   looks a body up among those of earlier crawls, in a file on the disk
    own         the bodies that this crawl has archived last

Of several responses with the same body, the earliest counts, and of these the one whose URL sorts first: so the outcome
does not depend on the order of files. A revisit never counts, because it has no body.

The file of `originals` can always be made anew from its sources, and is: if they have changed, if it is missing, and if
it is damaged. A crawl uses what was found at its start.
"""
