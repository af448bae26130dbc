"""Words and paragraphs in the languages of the simulated pages.

The paragraphs of a language are the same in every web; pages differ by which of them they contain.
"""

from collections.abc import Iterator
from functools import cache

import msgspec


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WORDS = _words(
    "able account acid across actor adult advice afternoon agency airport album amber anchor angle animal answer apple "
    "april archive arrow artist atlas autumn bakery balance bamboo banner barrel basin basket beacon beaver bench "
    "berry birch blanket border bottle boulder branch bread breeze bridge bronze brook bucket button cabin cable "
    "camera canal candle canvas canyon captain carbon carpet castle cedar cellar chain chamber chapel cherry chimney "
    "circle citizen clay cliff clock cloud clover coast cobalt coffee collar column comet copper coral corner cotton "
    "country crane crater cricket crystal current curtain cypress dairy dance delta desert diamond dinner doctor "
    "dragon drawer eagle early earth easel east echo editor elbow elder ember engine estate evening fabric factory "
    "falcon farmer feather fence fern ferry fiddle field finger flame flint flock flower forest fossil fountain "
    "fox frame frost furnace galaxy gallery garden garlic gate ginger glacier glass globe grain granite grape "
    "gravel harbor harvest hazel heather heron hill history honey horizon hunter island ivory jacket jasmine journal "
    "jungle kettle kitchen ladder lagoon lake lantern laurel leather lemon letter library lily linen lion lizard "
    "lobster lumber magnet mango maple marble market marsh meadow melon mercury meteor mineral mirror monsoon moon "
    "morning mountain museum mustard napkin needle nickel north novel oak ocean olive onion orange orbit orchard "
    "otter oyster paddle palace panel paper parade parcel pasture pebble pencil pepper piano pigeon pillow pine "
    "planet plaza plum pocket pond poplar prairie prism pumpkin quarry quartz quilt rabbit raven reef ribbon river "
    "rocket rope saddle salmon sand satin season shadow shore silver spruce stable station stone storm summer"
)
"""256 words with the letters a to z, for page names."""

_SMALL = ("the", "of", "and", "a", "in", "near", "with", "from", "over", "under", "its", "for", "every", "to", "by")

_FRENCH = _words(
    "été forêt château café élève hôtel mère père rivière montagne fenêtre école marché église musée théâtre jardin "
    "lumière après très déjà où façon garçon leçon français cœur sœur île tête bête même être avoir même près "
    "derrière lorsque depuis toujours jamais peut-être le la les des une dans pour avec sur qui que est sont"
)
_GERMAN = _words(
    "Straße Häuser Bäume Brücke Fluß Gärten Schlösser Übung Öffnung Äpfel Völker Tür Schüler Köln München größer "
    "schöne müde früh spät über für können müssen dürfen während gegenüber natürlich der die das und ist nicht mit "
    "von zu auf ein eine wird sich auch nach bei einem Wälder Flügel Küche Löffel süß weiß heiß"
)
_RUSSIAN = _words(
    "город река дом улица книга страница человек время жизнь работа слово место вопрос ребёнок сторона страна мир "
    "случай голова конец рука земля друг машина вода отец женщина ночь стол лес море гора утро вечер и в на не что "
    "он как это по но из у за от так же для было только когда уже"
)
_JAPANESE = _words(
    "これは それは 日本語 文章 です ます 東京 京都 図書館 新聞 時間 電車 学校 先生 学生 友達 天気 今日 明日 昨日 "
    "山 川 海 空 花 食べる 飲む 見る 読む 書く 行く 来る 大きい 小さい 美しい 新しい 古い ページ リンク テスト "
    "の に は を が と で も から まで"
)
_CHINESE = _words(
    "我们 他们 这个 那个 中国 北京 上海 图书馆 时间 学校 老师 学生 朋友 天气 今天 明天 昨天 山 水 海 天空 花 "
    "吃饭 喝茶 看书 写字 工作 生活 大 小 美丽 新 旧 文章 网页 链接 测试 的 是 在 有 和 了 不 人 一 国家 历史 文化"
)
_KOREAN = _words(
    "우리는 그것은 한국 서울 도서관 시간 학교 선생님 학생 친구 날씨 오늘 내일 어제 산 강 바다 하늘 꽃 먹다 마시다 "
    "보다 읽다 쓰다 가다 오다 크다 작다 아름다운 새로운 오래된 페이지 시험 그리고 그러나 역사 문화 나라 사람"
)


class Language(msgspec.Struct, frozen=True):
    """A language and its writing."""

    code: str
    words: tuple[str, ...]
    gap: str = " "
    stop: str = "."
    bytes_per_character: float = 1.0
    """In the encodings that the simulated pages use."""


ENGLISH = Language("en", (*WORDS, *_SMALL * 12))
FRENCH = Language("fr", _FRENCH)
GERMAN = Language("de", _GERMAN)
RUSSIAN = Language("ru", _RUSSIAN)
JAPANESE = Language("ja", _JAPANESE, "", "。", 2.0)
CHINESE = Language("zh", _CHINESE, "", "。", 2.0)
KOREAN = Language("ko", _KOREAN, " ", ".", 1.7)

PARAGRAPHS = 256
"""Paragraphs per language."""


def steps(start: int) -> Iterator[int]:
    """Endless 32-bit numbers from a linear congruential generator (Knuth's MMIX constants), high bits only."""
    state = start
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        yield state >> 32


@cache
def paragraphs(language: Language) -> tuple[str, ...]:
    """The paragraphs of a language, without markup, of a few hundred characters each."""
    numbers = steps(len(language.words))
    result = []
    for _ in range(PARAGRAPHS):
        sentences = (_sentence(language, numbers) for _ in range(3 + next(numbers) % 4))
        result.append(language.gap.join(sentences))
    return tuple(result)


def phrase(language: Language, start: int, length: int) -> str:
    """Some words of a language, the first with a capital."""
    numbers = steps(start)
    words = language.words
    text = language.gap.join(words[next(numbers) % len(words)] for _ in range(length))
    return text[:1].upper() + text[1:]


def _sentence(language: Language, numbers: Iterator[int]) -> str:
    start = next(numbers)
    return phrase(language, start, 7 + start % 9) + language.stop
