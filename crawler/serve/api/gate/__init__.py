"""Who may ask the API, how often, and what is remembered of it.

    tokens     the tokens, their names and rights
    caller     who asks
    guard      token, Host and Origin of a request
    audit      a line for each change

The Unix socket needs no token: only its owner may open it. A port needs one for each request.
"""
