"""The page of the daemon: what people see at `/`.

    static/    the page itself: HTML, CSS and JavaScript modules, which the browser takes as they are
    files      serves them, with headers that let the browser load nothing else

The files hold nothing of any crawl, so they need no token. The page asks its reader for the token, keeps it as long as
the tab is open, and gets everything from the API, as programs do. Whatever comes from a crawled site becomes text, not
markup: the page builds its elements one by one, and the browser refuses markup in strings (Trusted Types).
"""
