"""Lists of stop words by name and by file."""

from __future__ import annotations

import sys
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
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    with pytest.raises(nlgauge.errors.MissingExtraError, match=r"nlgauge\[lexical\]"):
        load_stopwords("nltk-en")


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
