"""Lists of stop words by name and by file."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.samples import HYPS, REFS

import nlgauge


def test_stop_words_by_name() -> None:
    pytest.importorskip("stopwordsiso")
    plain = nlgauge.score(HYPS, REFS, metric="moverscore:idf=none")
    without = nlgauge.score(HYPS, REFS, metric="moverscore:idf=none,stopwords=iso-en", alignments=True)
    assert without.alignments is not None
    flow = without.alignments[0]
    assert flow is not None
    assert not {"a", "the", "was", "of"} & {*flow.hypothesis_tokens, *flow.reference_tokens}
    assert not np.allclose(plain.score, without.score)
    assert without.signature.recipe["stopwords"].startswith("iso-en[")
    again = nlgauge.score(HYPS, REFS, metric=without.signature)
    assert np.array_equal(again.score, without.score)
    with pytest.raises(nlgauge.errors.RecipeError, match="'xx'"):
        nlgauge.score(HYPS, REFS, metric="moverscore:stopwords=iso-xx")


def test_stop_words_of_spacy_and_nltk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages are heavy; what is read of them is a set and a function, which stand in here."""
    from nlgauge.text import words
    from nlgauge.text.words import load_stopwords

    folder = tmp_path / "spacy" / "lang" / "en"
    folder.mkdir(parents=True)
    for package in (tmp_path / "spacy", tmp_path / "spacy" / "lang", folder):
        (package / "__init__.py").touch()
    (folder / "stop_words.py").write_text("STOP_WORDS = {'the', 'a'}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "spacy"}
    for name in before:
        del sys.modules[name]
    words._by_name.cache_clear()  # another test may have asked for the real list
    try:
        result = load_stopwords("spacy-en")
        assert (result.name, result.words) == ("spacy-en", {"the", "a"})
        with pytest.raises(nlgauge.errors.RecipeError, match="'xx'"):
            load_stopwords("spacy-xx")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "spacy"]:
            del sys.modules[name]
        sys.modules.update(before)
        words._by_name.cache_clear()


#: Digests of English lists (sha256 of the sorted words, one per line): the 153 words of MoverScore's released script,
#: as SacreROUGE copied them (sacrerouge/metrics/moverscore.py), and the 179 words of NLTK's corpus of 2018 to 2024.
ENGLISH = {
    "nltk153-en": (153, "f308c8efa96c0377200da1e222bfb40bb01cb2a122c69cfa8f80e6a63218ef21"),
    "nltk179-en": (179, "63c081f949766b37ecdc95ac5b55639990d34295166996357ff47df805fda211"),
}

#: Of the list of 2024, all words whose place decides to which older list they belong, and the Turkish list in part.
ARCHIVE = {"english": "the don don't you're he'd we're shan shan't", "turkish": "acaba ama"}


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine without NLTK's corpus and without pulled lists."""
    from nlgauge.text import words

    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    words._by_name.cache_clear()
    yield tmp_path
    words._by_name.cache_clear()


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("nltk-en", "nltk-stopwords"),
        ("nltk153-en", "nltk-stopwords"),
        ("goto456-zh", "goto456-stopwords"),
        ("alir3z4-cs", "alir3z4-stopwords"),
    ],
)
@pytest.mark.usefixtures("empty_cache")
def test_lists_that_were_not_pulled_name_the_command(name: str, package: str) -> None:
    from nlgauge.text.words import load_stopwords

    with pytest.raises(nlgauge.errors.MissingExtraError, match=f"run 'nlgauge models pull {package}'"):
        load_stopwords(name)


def test_lists_of_the_pulled_archive(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nlgauge.io.storage import file_digest
    from nlgauge.io.store import catalog, fetch
    from nlgauge.text.words import load_stopwords

    made = empty_cache / "made.zip"
    with zipfile.ZipFile(made, "w") as archive:
        for language, text in ARCHIVE.items():
            archive.writestr(f"stopwords/{language}", text.replace(" ", "\n"))
    card = replace(catalog.CARDS["nltk-stopwords"], digests={"stopwords.zip": file_digest(made)})
    monkeypatch.setitem(catalog.CARDS, "nltk-stopwords", card)
    folder = fetch.card_folder(card)
    folder.mkdir(parents=True)
    made.rename(folder / "stopwords.zip")
    assert load_stopwords("nltk-en").words == set(ARCHIVE["english"].split())
    assert load_stopwords("nltk-tr").words == {"acaba", "ama"}
    assert load_stopwords("nltk179-en").words == {"the", "don", "don't", "you're", "shan", "shan't"}
    assert load_stopwords("nltk153-en").words == {"the", "don", "shan"}
    with pytest.raises(nlgauge.errors.RecipeError, match="nltk has no list for language 'xx'"):
        load_stopwords("nltk-xx")
    with pytest.raises(nlgauge.errors.RecipeError, match="use nltk-de"):
        load_stopwords("nltk179-de")


@pytest.mark.usefixtures("empty_cache")
def test_languages_without_a_list_are_refused() -> None:
    from nlgauge.text.words import load_stopwords

    with pytest.raises(nlgauge.errors.RecipeError, match="language 'de' in alir3z4-stopwords; it has cs, fi"):
        load_stopwords("alir3z4-de")


@pytest.mark.parametrize("name", ENGLISH)
def test_older_lists_have_the_words_of_their_time(name: str) -> None:
    from nlgauge.io.store.catalog import CARDS
    from nlgauge.io.store.fetch import cached_card
    from nlgauge.text.words import load_stopwords

    if cached_card(CARDS["nltk-stopwords"]) is None:
        pytest.skip("run: nlgauge models pull nltk-stopwords")
    stopwords = load_stopwords(name)
    assert (len(stopwords.words), stopwords.digest) == ENGLISH[name]


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    from nlgauge.text.words import load_stopwords

    plain, marked = tmp_path / "plain.txt", tmp_path / "marked.txt"
    plain.write_bytes(b"the\ncat\n")
    marked.write_bytes(b"\xef\xbb\xbfthe\ncat\n")
    assert load_stopwords(str(marked)).words == {"the", "cat"}
    assert load_stopwords(str(marked)).label == load_stopwords(str(plain)).label


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.txt", "", "empty"),
        ("blank.txt", "\n \n", "contains no words; write one word per line"),
        ("list.json", '["the", "a"]', "is JSON, not a list of words; write one word per line"),
        ("list.txt", '{\n  "the": 1}', "is JSON"),
        ("list.tsv", "the\n", "is a table with tabs"),
        ("tagged.txt", "the\tDET\na\tDET\n", "is a table with tabs"),
        ("list.csv", "the\n", "is a table with commas"),
        ("row.txt", "the,a,an\n", "is a table with commas"),
    ],
)
def test_files_that_are_no_list_of_words_are_refused(tmp_path: Path, name: str, content: str, says: str) -> None:
    from nlgauge.text.words import load_stopwords

    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(nlgauge.errors.InputError, match=says):
        load_stopwords(str(tmp_path / name))


def test_punctuation_may_be_on_a_list(tmp_path: Path) -> None:
    from nlgauge.text.words import load_stopwords

    (tmp_path / "list").write_text(",\n.\n[\nthe an\n", encoding="utf-8")
    assert load_stopwords(str(tmp_path / "list")).words == {",", ".", "[", "the", "an"}
