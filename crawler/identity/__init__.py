"""The keys with which a crawler signs its requests, on the disk of its operator. Needs the extra `signatures`.

    keys      Ed25519 keys as JSON Web Keys, and the directory of public ones that is published (Web Bot Auth)
    folder    a folder of such keys: makes it, renews its key, and says which key signs now

The private keys stay in the folder, each in a file that only its owner can read. The directory is both what is
published and the truth about the folder: a key signs from its `nbf` to its `exp`. A key is in the directory for a day
before it signs, because servers keep a copy of the directory.

Drafts: draft-ietf-webbotauth-httpsig-protocol-00, which joins draft-meunier-web-bot-auth-architecture-05 and
draft-meunier-http-message-signatures-directory-05. RFC 8037, appendix A, for keys and their thumbprints.
"""
