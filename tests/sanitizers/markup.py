"""Cases for the survey of markup. The reference is written in regular expressions."""

from random import Random
from typing import cast

from msgspec.structs import replace

from crawler.read.elements import _markup as compiled
from crawler.read.elements.markup import Survey, survey_by_patterns
from tests.sanitizers.calls import Call, copy_exactly
from tests.sanitizers.corpus import Corpus, make_markup


def compare(chance: Random, corpus: Corpus) -> None:
    html, most = make_markup(chance, corpus, 30), chance.randrange(6)
    found = Survey(*compiled.survey(cast(bytes, copy_exactly(html)), most))
    patterns = survey_by_patterns(html, most_attributes=most)
    assert found.elements <= patterns.elements
    assert found.formatting <= patterns.formatting
    assert replace(found, elements=0, formatting=0) == replace(patterns, elements=0, formatting=0)


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    return [(compiled.survey, (copy_exactly(make_markup(chance, corpus, 30)), chance.randrange(6)))]
