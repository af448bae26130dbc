"""How pages are rendered that scripts make: in a browser that has no network.

`RenderingFetcher` stands before another fetcher. That one asks for the page, as for any other; redirects, failures and
whatever is no HTML go back as they are. What is left is given to a headless Chromium, and the document as it stands
after its scripts have run becomes the body of the page.

The browser asks nobody. Everything that a page loads is stopped inside the browser (`Fetch.requestPaused`) and
answered from outside by the same fetcher as the page itself: so the guard of addresses, names, TLS, limits, proxies and
the user agent are those of the crawl, and `loads` adds what is particular: robots.txt, kinds and numbers of
sub-requests, and that a page only reads. A request that Chromium does not let us stop (web sockets, WebRTC,
WebTransport, service workers, prefetch of names, its own services) goes nowhere:

    names       every name and address resolves to "not found" (`--host-resolver-rules`)
    proxy       all traffic, loopback included, is for a proxy of such a name; UDP is off
    system      where the system lets us, the browser lives in a network of its own without interfaces

The first two are asked of Chromium; the third asks nothing of it, and is enough alone. Requests are answered here
rather than passed through a proxy of ours, since a proxy would see TLS, not what is in it.

Chromium is spoken to in the DevTools protocol over a socket pair, which no one else on the machine can reach. A
driver such as Playwright would bring 100 MB and a Node.js for the dozen commands that are needed here.

Each page at once has a browser of its own: what one page does to it is felt by no other. `launch` ties it to the life
of the crawl and limits its memory; `browser` starts and ends one, `browsers` lends them; a page is one `visit`, in a
context that is thrown away. A browser that has been crashed or hung is killed, and the next page gets a new one.
Profiles lie in a directory that is emptied when a crawl starts and when it ends.
"""
