"""Lists of what a crawl has found: sections of a report that name URLs.

    forms       what the lists hold
    listed      what is read of each record
    last_visits which visit to a URL counts
    endings     where each URL ends: at a page, an error, or a redirect to one of them; on disk
    linking     every page that links to an error, or to a redirect; on disk
    broken_anchors  links to parts of pages that are not there
    orphans     pages to which no page links
    sitemaps    what sitemaps name
    unlisted    pages that no sitemap names
    mislisted   URLs that a sitemap should not name
    duplicates  pages that are the same, or almost, or that say so
    most        the slowest and the largest URLs
    refusals    why links were refused, with examples
    temporary   tables in a temporary file
    making      reads the records, several times, and makes the lists that are wanted

All of them take memory for what they show, not for what they read: endings and digests lie in a temporary file.
"""
