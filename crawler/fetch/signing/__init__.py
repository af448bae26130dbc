"""Signs requests: Web Bot Auth, which is HTTP Message Signatures (RFC 9421) with Ed25519. Needs the extra `signatures`.

    values       what the fetcher knows of it
    signer       makes the headers of a signed request, and keeps them per host until they are renewed
    challenges   reads Accept-Signature, and remembers which hosts want signatures, and of what
    signing      decides which requests are signed, and whether one must be repeated because its host asks for that

A signature covers the host of a request, and the site where the public keys are published. It holds for any request to
that host until it expires, so over plain http it also covers the scheme: nobody can repeat it over https. Each hop of
a redirect is a request of its own, with the signature of its own host. A host at a private address gets no signature,
unless the configuration names it.

Draft: draft-ietf-webbotauth-httpsig-protocol-00 (formerly draft-meunier-web-bot-auth-architecture-05).
"""
