"""Word-by-word and re-ordered translations, and how often metrics prefer them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlgauge.core.result import Result
from nlgauge.errors import InputError
from nlgauge.studies.stress.translationese import Translationese, rewrite, translationese

WORDS = {"das": "the", "haus": "house", "ist": "is", "klein": "small", "buch": "book", "gross": "big", "rom": "Rome"}
GERMAN = [f"Das {noun} ist {last}." for noun in ("haus", "buch") for last in ("klein", "gross", "rom")]
PARALLEL = [
    (text, f"{' '.join(WORDS[word] for word in text[:-1].lower().split()).capitalize()}.".replace("rome", "Rome"))
    for text in GERMAN
]


def test_literal_translations_keep_order_punctuation_and_names() -> None:
    """The spelling of a name is that of the parallel text. `sehr` is in no text and in no human translation."""
    texts = rewrite(["klein ist „Rom“, sehr Xyz!"], ["Rome is small, Xyz!"], PARALLEL)
    assert texts.literal == ["Small is „Rome“, Xyz!"]
    assert texts.untranslated == pytest.approx(2 / 5)


def test_words_in_the_order_of_the_source() -> None:
    """The links are those of the aligner; words without one stay behind their neighbour."""
    texts = rewrite(["Klein ist das Haus"], ["The house is small"], PARALLEL * 3)
    assert sorted(texts.source_order[0].split()) == sorted(["The", "house", "is", "small"])
    assert texts.source_order == ["small is The house"]


def test_shuffled_words_are_those_of_the_human_translation_and_depend_on_the_seed() -> None:
    references = ["The house is small and the book is big"] * 4
    texts = rewrite(["Das Haus"] * 4, references, PARALLEL)
    assert {tuple(sorted(text.split())) for text in texts.shuffled} == {tuple(sorted(references[0].split()))}
    assert texts.shuffled == rewrite(["Das Haus"] * 4, references, PARALLEL).shuffled
    assert texts.shuffled != rewrite(["Das Haus"] * 4, references, PARALLEL, seed=1).shuffled
    assert len(set(texts.shuffled)) > 1


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Vectors in which a translation is its word; `tiny`, of no source, is far from all."""
    entries = dict.fromkeys([*WORDS, *(word.lower() for word in WORDS.values())])
    for n, (word, translation) in enumerate(WORDS.items()):
        entries[word] = entries[translation.lower()] = np.eye(8)[n]
    entries["tiny"] = np.eye(8)[7]
    path = tmp_path / "both.vec"
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in entries.items()), encoding="utf-8")
    return str(path)


def study(model: str, **options: object) -> Translationese:
    """Of two texts one has a free human translation, which a metric of words cannot match."""
    sources, references = ["das haus ist klein", "das buch ist gross"], ["the house is tiny", "the book is big"]
    settings = {"model": model, "lowercase": True} | options
    return translationese(sources, references, tuple(zip(*PARALLEL, strict=True)), "xmoverscore:n=1", **settings)  # type: ignore[arg-type]


def test_the_share_of_preferred_translations(model: str) -> None:
    """By hand: d is above 0 for the free translation and 0 for the literal one, in any order (n = 1)."""
    result = study(model)
    shares = {entry.kind: (entry.share, entry.ties) for entry in result.preferences}
    assert shares == {"literal": (0.5, 0.5), "source order": (0.0, 1.0), "shuffled": (0.0, 1.0)}
    literal = result.preferences[0]
    assert literal.differences[0] > 0.1
    assert literal.mean == pytest.approx(literal.differences.mean())
    assert (result.texts, result.lexicon_pairs, result.untranslated) == (2, 6, 0.0)
    text = result.render()
    assert "literal" in text
    assert "lexicon from 6 other pairs of texts" in text


def test_it_is_signed_and_read_back(model: str) -> None:
    result = study(model)
    again = Result.from_dict.__func__(Translationese, result.to_dict())  # type: ignore[attr-defined]
    np.testing.assert_array_equal(again.preferences[0].differences, result.preferences[0].differences)
    assert study(model).signature == result.signature != study(model, seed=1).signature
    assert result.preferences[0].signature.startswith("xmoverscore|")


def test_tested_pairs_are_not_in_the_lexicon(model: str) -> None:
    source, target = PARALLEL[0]
    with pytest.raises(InputError, match="parallel text other than the tested pairs"):
        translationese([source], [target], ([source], [target]), "xmoverscore:n=1", model=model)
    with pytest.raises(InputError, match="got 0 and 1"):
        translationese([source], [], ([source], [target]), "xmoverscore:n=1", model=model)


def test_the_figure_has_a_histogram_for_each_kind(model: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    study(model).save_figure(tmp_path / "d.svg")
    drawn = (tmp_path / "d.svg").read_text(encoding="utf-8")
    assert "<svg" in drawn
