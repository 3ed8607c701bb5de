"""Which language a corpus is written in, told by its most frequent function words.

It serves one warning: texts of another language under a model of English only. So it is slow to decide: it looks at
all texts of a call together, needs a number of words, and names a language only where its words are many and those of
every other language, English first, are few. Where it is not sure it says nothing.

The lists have the most frequent articles, prepositions, conjunctions, pronouns and auxiliaries of a language, without
those that are also words of English; what stands in two lists does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["LANGUAGE_NAMES", "language_name", "language_of_texts"]

#: Names in English of all languages that can be detected.
LANGUAGE_NAMES = {
    "cs": "Czech",
    "da": "Danish or Norwegian",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fi": "Finnish",
    "fr": "French",
    "hu": "Hungarian",
    "it": "Italian",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "sv": "Swedish",
    "tr": "Turkish",
}

#: Names of further languages, for messages.
_OTHER_NAMES = {
    "ar": "Arabic",
    "el": "Greek",
    "hi": "Hindi",
    "ja": "Japanese",
    "ko": "Korean",
    "ru": "Russian",
    "th": "Thai",
    "uk": "Ukrainian",
    "zh": "Chinese",
}

_WORDS = {
    "cs": """že jsem jsou který která které bylo byl byla ale jako jeho její jen už při není také jsme ve ke více
        bude budou nebo podle před protože když můžeme své svůj""",
    "da": """og ikke jeg det er som til af med der har på hun han vi kan skal ved også efter eller blev være hvad
        meget bliver været blive mellem deres""",
    "de": """der und das den dem des ein eine einen einem einer ist nicht sich mit auf für von zu zum zur auch wie
        wird werden wurde haben hatte bei oder aus nach sind über sie wir ihr vor durch aber einander noch nur
        unter während zwischen""",
    "en": """the of and that is was for with as his her they be at have this from had but not what all were when we
        there been their who will more would if him your can could about has said which""",
    "es": """el los las una unos y que del por con para está pero su sus como más este esta fue han también muy hay
        donde desde hasta sobre según cuando porque entre sin ser""",
    "et": """ja et ning ka aga mis kes kui olid oli nende selle oma seda siis veel ainult kuid tema nad meie olla
        võib pärast sest""",
    "fi": """ja ei että hän oli ovat mutta joka kun niin myös sen mukaan kuin vain sekä ole hänen jos jo nyt olisi
        ollut tämä jotka voi kanssa kuitenkin vielä""",
    "fr": """le les des du une et est dans qui pour pas sur au aux avec ce cette ces sont mais il elle nous vous ont
        été par leur leurs ou où être très sous entre comme aussi""",
    "hu": """az egy és hogy nem van volt csak már meg még vagy mint ezt azt ha lesz után pedig ki kell szerint lehet
        hanem akkor""",
    "it": """il gli della delle dei del di che è per una con sono anche più nel nella alla dal dalla ha hanno questo
        questa ma sul suo sua loro essere stato""",
    "lt": """ir kad yra iš su tai bet kaip jis ji buvo jau tik kurie kuris arba dar prie už apie jos jų labai nuo
        savo""",
    "lv": """ir ka ar lai par uz bija no kas viņš viņa bet tas kā arī pie pēc tiek nav vai ko šo kuri būs gan jau
        līdz""",
    "nl": """het een en van zijn niet op te dat voor aan met er om ook maar bij uit naar heeft deze werd worden wordt
        door nog wel hij dan tegen kan""",
    "pl": """się nie jest że na jak ale był była było są przez dla czy jego jej oraz tego który która które tym przed
        może już tylko także po""",
    "pt": """os uma um não da dos das no na em com para mais foi são ao pela pelo também está ele ela seu sua muito
        até isso já quando porque entre""",
    "ro": """și în că nu este cu pe din care mai pentru sunt fost acest această lui său sau după către prin fi cele
        lor dar numai fără unei unui între""",
    "sv": """och att det som är på inte av till den för med har ett han hon var jag vi kan ska från eller när också
        efter vara mycket detta""",
    "tr": """ve bir bu için da ile olarak daha çok gibi olan sonra kadar ama ancak değil en var olduğunu tarafından
        göre ise diye her""",
}

#: Words of at least two letters: single letters are words of several languages.
_LISTS = {language: {word for word in words.split() if len(word) > 1} for language, words in _WORDS.items()}
_SHARED = {word for word, count in Counter(w for words in _LISTS.values() for w in words).items() if count > 1}
_LANGUAGE_OF_WORD = {word: language for language, words in _LISTS.items() for word in words - _SHARED}

_WORD = re.compile(r"[^\W\d_]+")

#: Characters that are looked at, from the first texts on: more of them tell no more.
_MOST_CHARACTERS = 200_000

#: Function words that a language needs to be named, and their share in all words.
_FEWEST, _LEAST_SHARE = 8, 0.04

#: How many times as many function words it has as the language with the next most.
_AHEAD = 3


def language_name(code: str) -> str:
    """The English name of a language, or its code; a region (`pt-BR`) does not count.

    >>> language_name("zh-TW"), language_name("xx")
    ('Chinese', 'xx')
    """
    return (LANGUAGE_NAMES | _OTHER_NAMES).get(code.partition("-")[0], code)


def language_of_texts(texts: Iterable[str]) -> str:
    """The code of the language that the texts are in, taken together; empty where that is not plain.

    >>> language_of_texts(["Ein Mann und eine Frau sitzen auf der Bank, und das Kind ist bei ihnen."] * 2)
    'de'
    >>> language_of_texts(["Ein Mann"]), language_of_texts(["A man and a woman sit on the bank."] * 5)
    ('', 'en')
    """
    found: Counter[str] = Counter()
    words = characters = 0
    for text in texts:
        split = _WORD.findall(text.lower())
        words += len(split)
        found.update(filter(None, map(_LANGUAGE_OF_WORD.get, split)))
        characters += len(text)
        if characters > _MOST_CHARACTERS:
            break
    (first, most), (_, second) = [*found.most_common(2), ("", 0), ("", 0)][:2]
    sure = most >= _FEWEST and most >= _LEAST_SHARE * words and most >= _AHEAD * second
    return first if sure else ""
