"""Cases that show a fault. The environment variable FAULT names it."""

import importlib
import os
from random import Random

from tests.sanitizers.calls import Call
from tests.sanitizers.corpus import Corpus

compiled = importlib.import_module("tests.sanitizers._faulty")
fault = getattr(compiled, os.environ["FAULT"])


def compare(chance: Random, corpus: Corpus) -> None:
    assert compiled.obey(7) == 7


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    return [(fault, (chance.randrange(1, 100),))]
