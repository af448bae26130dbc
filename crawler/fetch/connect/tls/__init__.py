"""TLS: how we speak it, and the sessions that spare us handshakes.

A full handshake costs more processor time than all else of a small page, and asyncio resumes no session. `contexts`
makes the one context of each kind of trust, which loads the authorities of the system at the first connection.
`sessions` decides which session is kept for a host, and when it is used. `resuming` makes a context use them.

A session is the server's word that it has proved its name before; when it is resumed, no certificate is sent or
verified. So a session belongs to one host name and to one context: it never serves another host, nor the same host
under another trust. It says nothing of addresses: the guard checks each connection, whatever is resumed over it.
"""
