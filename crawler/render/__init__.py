"""Renders pages that are made by scripts, in a browser without network.

`RenderingFetcher` wraps another fetcher, which fetches the page. Redirects, failures and other media types are returned
unchanged. An HTML page goes to a headless Chromium, and the document after its scripts have run becomes its body.

The browser contacts no server. It pauses each request of a page (`Fetch.requestPaused`), and we respond through the
fetcher of the crawl. So the guard of addresses, names, TLS, limits, proxies and the user agent are those of the crawl.
`loads` adds robots.txt and allows only some kinds of requests, all of them GET; `interceptor` limits their number and
size; `responses` caches what pages share. Requests that Chromium can't pause (web sockets, WebRTC, WebTransport,
service workers, name prefetch, its own services) go nowhere:

    names       every name and address resolves to "not found" (`--host-resolver-rules`)
    proxy       all traffic, including loopback, must use a proxy with such a name; UDP is off
    system      if the system allows it, the browser runs in a network namespace without interfaces

For the first two we depend on Chromium; the third does not, and would be enough alone. We do not use a proxy of our own
for the requests, because a proxy sees only TLS, not its contents.

We speak the DevTools protocol with Chromium (`devtools`), over a socket pair that nobody else on the machine can reach.
A driver such as Playwright would need 100 MB and Node.js, for a dozen commands.

Each page has a browser for itself while it is shown, so pages do not disturb each other. `launch` binds the browser to
the life of the crawl; `browser` starts and ends one, `browsers` lends them. A page is one `visit`, in a context of its
own; `completion` decides when it is done, `behaviours` scrolls and clicks, and `document` takes the result. Then
`screenshots` takes images; if that fails, the document stays. All of it is `rendered`. If a browser crashes or hangs,
it is killed, and the next page gets a new one. The directory of profiles is emptied when a crawl starts and when it
ends.

With `Page.loads`, a page takes along what it loaded, for the archive.
"""
