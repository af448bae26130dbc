"""Reads the content of a page: its main text, plain and as Markdown, and its data for machines.

    document    a page as a tree that no page can make expensive, and how long its texts may be
    main_text   the main part of the tree, and its text
    structured_data  JSON-LD and Open Graph
    reading     what is wanted of a page, also to which anchors its links with a fragment lead
    trafilatura_text  the same by another library, an extra for exports

This is done only on request, beside an extractor and not by one: whichever extractor a crawl has, a page has the same
text. Each step takes time in proportion to the size of the page. turbohtml holds the interpreter while it works, in a
thread too, so `document` limits how much it reads.
"""
