"""Cases for the text of a digest. The reference is written in Python."""

from random import Random

from crawler.page import _digests as compiled
from crawler.page.digests import digest_text_in_python
from tests.sanitizers.calls import Call
from tests.sanitizers.corpus import Corpus


def compare(chance: Random, _corpus: Corpus) -> None:
    sha1 = chance.randbytes(20)
    assert compiled.digest_text(sha1) == digest_text_in_python(sha1), sha1


def calls(chance: Random, _corpus: Corpus) -> list[Call]:
    return [(compiled.digest_text, (chance.randbytes(20),))]
