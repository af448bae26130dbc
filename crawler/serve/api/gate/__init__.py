"""Who may ask the API, how often, and what is remembered of it.

    tokens     the tokens, their names and rights
    caller     who asks
    guard      token, Host and Origin of a request
    limits     how much a client may ask for; pure
    traffic    the requests that are being answered; their rate and their bodies
    tls        the certificate of a port
    audit      a line for each change
    repetition carries out a request with a key once
    answers    what such requests were answered
    half_closed answers clients that have closed their side of a connection
    listener   accepts connections, and closes those of slow clients

The Unix socket needs no token: only its owner may open it. A port needs one for each request.
"""
