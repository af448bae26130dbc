"""Reads the content of a page: its main text, plain and as Markdown.

    document    a page as a tree that no page can make expensive
    main_text   the main part of the tree, and its text
    reading     what is wanted of a page

This is done only on request, beside an extractor and not by one: whichever extractor a crawl has, a page has the same
text. Each step takes time in proportion to the size of the page. turbohtml holds the interpreter while it works, in a
thread too, so `document` limits how much it reads.
"""
