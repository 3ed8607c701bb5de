"""Languages: their codes, the script and the language of texts, and the languages of known models.

Scripts separate a text that a model cannot have learnt from one that it may have. Letters and their marks are counted
by script; digits, punctuation, symbols and emoji belong to none. A script is the first word of a character's Unicode
name, for the scripts that living languages are written in.

The language of a corpus is found by its most frequent function words. It serves one warning: texts of another
language under a model of English only. So it decides slowly: it looks at all texts of a call together, needs a number
of words, and names a language only where its words are many and those of every other language, English first, are
few. Otherwise it names none. The lists have the most frequent articles, prepositions, conjunctions, pronouns and
auxiliaries of a language, without those that are also words of English; words of two lists do not count.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache

from nlgauge.errors import LanguageWarning, RecipeError
from nlgauge.io.store.catalog import find_card

#: ISO 639-1, and languages of machine translation and summarisation that only ISO 639-3 has.
LANGUAGE_CODES = frozenset(
    """aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
    en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja
    jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd
    ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr
    ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    ast ceb ckb crh fil fur haw hsb ilo kab kmb lij lmo mai mni nso pap sat scn shn szl umb vec war yue""".split()  # noqa: SIM905 - easier to read than quotes
)

#: Three letters (ISO 639-2 and 639-3) for languages that have two.
_TWO_LETTERS = dict(
    entry.split("=")
    for entry in """afr=af amh=am ara=ar arb=ar asm=as aze=az azj=az bel=be ben=bn bod=bo bos=bs bul=bg cat=ca ces=cs
    chi=zh cmn=zh cym=cy cze=cs dan=da deu=de dut=nl ell=el eng=en epo=eo est=et ekk=et eus=eu fas=fa fin=fi fra=fr
    fre=fr ger=de gle=ga glg=gl gre=el guj=gu hat=ht hau=ha heb=he hin=hi hrv=hr hun=hu hye=hy ibo=ig ind=id isl=is
    ita=it jav=jv jpn=ja kan=kn kat=ka kaz=kk khm=km kin=rw kir=ky kor=ko kur=ku lao=lo lat=la lav=lv lvs=lv lin=ln
    lit=lt ltz=lb lug=lg mal=ml mar=mr mkd=mk mlg=mg mlt=mt mon=mn mri=mi msa=ms mya=my nep=ne npi=ne nld=nl nno=nn
    nob=nb nor=no nya=ny oci=oc ori=or orm=om pan=pa pes=fa pol=pl por=pt pus=ps ron=ro rum=ro run=rn rus=ru san=sa
    sin=si slk=sk slv=sl sna=sn snd=sd som=so spa=es sqi=sq srp=sr sun=su swa=sw swe=sv swh=sw tam=ta tat=tt tel=te
    tgk=tg tgl=tl tha=th tir=ti tuk=tk tur=tr uig=ug ukr=uk urd=ur uzb=uz vie=vi wol=wo xho=xh yid=yi yor=yo zho=zh
    zul=zu""".split()  # noqa: SIM905 - easier to read than quotes
)

_SUBTAGS = re.compile(r"(-[a-z0-9]{2,8})*", flags=re.ASCII)


def language_code(text: str) -> str:
    """The spelling that tables have of a code: lower case, two letters where there are, `-` before a region.

    >>> [language_code(text) for text in ("EN", "deu", "zh_TW")]
    ['en', 'de', 'zh-tw']
    """
    first, dash, rest = text.strip().lower().replace("_", "-").partition("-")
    primary = _TWO_LETTERS.get(first, first)
    if primary not in LANGUAGE_CODES or not _SUBTAGS.fullmatch(dash + rest):
        fix = "give an ISO 639 code such as en, de or zh-TW"
        msg = f"lang must be the code of a language, got {text!r}; {fix}"
        raise RecipeError(msg)
    return primary + dash + rest


#: Scripts by the first word of their characters' names, where that is not the script's own name.
_SCRIPT_NAMES = {"CJK": "Han", "OL": "Ol Chiki", "CANADIAN": "Canadian Aboriginal", "NKO": "N'Ko", "ORIYA": "Odia"}

#: Words before the script's name, as in FULLWIDTH LATIN CAPITAL LETTER A.
_PREFIXES = frozenset({"FULLWIDTH", "HALFWIDTH", "SUPERSCRIPT", "SUBSCRIPT", "MODIFIER", "LETTER", "SMALL"})

_SCRIPTS = frozenset(
    """ADLAM ARABIC ARMENIAN BALINESE BENGALI BOPOMOFO CANADIAN CHEROKEE CJK CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN
    GREEK GUJARATI GURMUKHI HANGUL HEBREW HIRAGANA JAVANESE KANNADA KATAKANA KHMER LAO LATIN MALAYALAM MONGOLIAN
    MYANMAR NKO OL ORIYA SINHALA SUNDANESE SYRIAC TAMIL TELUGU THAANA THAI TIBETAN TIFINAGH VAI YI""".split()  # noqa: SIM905 - easier to read than quotes
)


@lru_cache(maxsize=16384)
def script_of(char: str) -> str:
    """The script of a letter or of a mark on one; empty for any other character, and for scripts of the past.

    >>> [script_of(char) for char in "aяก한語!😀"]
    ['Latin', 'Cyrillic', 'Thai', 'Hangul', 'Han', '', '']
    """
    if unicodedata.category(char)[0] not in "LM":
        return ""
    words = unicodedata.name(char, "").replace("-", " ").split()
    name = next((word for word in words if word not in _PREFIXES), "")
    return _SCRIPT_NAMES.get(name, name.capitalize()) if name in _SCRIPTS else ""


def count_scripts(text: str) -> Counter[str]:
    """How many letters of each script a text has.

    >>> count_scripts("π is 3.14")
    Counter({'Latin': 2, 'Greek': 1})
    """
    found: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if script := script_of(char):
            found[script] += count
    return Counter(dict(sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))))


def foreign_script(text: str, covered: Collection[str]) -> str:
    """The script of most letters that are of none of the covered ones; empty unless they are the majority.

    >>> foreign_script("Мы идём в парк.", {"Latin"}), foreign_script("The π of Архимед, explained.", {"Latin"})
    ('Cyrillic', '')
    """
    if text.isascii():
        return "" if "Latin" in covered or not any(map(str.isalpha, text)) else "Latin"
    found = count_scripts(text)
    foreign = {script: count for script, count in found.items() if script not in covered}
    return next(iter(foreign), "") if sum(foreign.values()) * 2 > sum(found.values()) else ""


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


#: Models of the hub that were trained on English only, as their papers or model cards say.
_ENGLISH_ONLY = frozenset(
    {
        "allenai/scibert_scivocab_uncased",
        "bert-base-cased-finetuned-mrpc",
        "bert-base-uncased",
        "bert-large-uncased",
        "distilbert-base-uncased",
        "microsoft/deberta-xlarge-mnli",
        "roberta-base",
        "roberta-large",
        "roberta-large-mnli",
        "xlm-mlm-en-2048",
        "xlnet-base-cased",
        "xlnet-large-cased",
    }
)

#: Model for texts of several languages that needs no network (extra `multilingual`).
MULTILINGUAL = "muse"


def one_language_of(model: str) -> str:
    """The only language that a model was trained on; empty where there are several, or nothing is known of it."""
    card = find_card(model)
    languages = ("en",) if model in _ENGLISH_ONLY else () if card is None else card.languages
    return languages[0] if len(languages) == 1 else ""


def warn_if_unsupported(model: str, language: str, *, read: bool = False, stacklevel: int = 2) -> None:
    """Warn of a language that a known model was not trained on; regions (`pt-BR`) do not count.

    `read` says that the model reads texts of this language. Where it may not, as with the language of sources that
    stand next to the texts, a model of one language is not judged. `stacklevel` is what the caller would give to
    `warnings.warn`.
    """
    card = find_card(model)
    if card is not None and len(card.languages) > 1 and not card.knows_language(language):
        msg = (
            f"model {card.name!r} was not trained on language {language!r}, so its vectors mean little there; "
            f"it knows: {', '.join(card.languages)}"
        )
        warnings.warn(msg, LanguageWarning, stacklevel=stacklevel + 1)
    elif read and (own := one_language_of(model)) and language.partition("-")[0] != own:
        what = f"texts are in {language_name(language)}"
        warn_of_other_language(model, what, language, stacklevel=stacklevel + 1)


def warn_of_other_language(model: str, what: str, language: str, *, stacklevel: int = 2) -> None:
    """Warn of texts in another language than the only one of a model; `what` says so of the texts."""
    multilingual = find_card(MULTILINGUAL)
    known = multilingual is not None and multilingual.knows_language(language)
    offer = f"a multilingual model, such as model='{MULTILINGUAL}'" if known else "a model of that language (model=)"
    own = language_name(one_language_of(model))
    msg = f"{what}, but model {model!r} was trained on {own} only; use {offer}"
    warnings.warn(msg, LanguageWarning, stacklevel=stacklevel + 1)
