"""Features of WALS: small tables made by hand, and the published file where it is on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from nlgauge.errors import FileFormatError, InputError, MissingExtraError
from nlgauge.io.storage import file_digest
from nlgauge.io.store import catalog
from nlgauge.io.store.fetch import cached_card
from nlgauge.studies.alignment.word_cosines import correlate_with_typology
from nlgauge.studies.alignment.word_spaces import language_centroids
from nlgauge.text import typology
from nlgauge.text.typology import Typology, load_typology

QUESTIONS = ["S_ADJECTIVE_AFTER_NOUN", "S_OBJECT_BEFORE_VERB", "P_TONE", "S_CASE_SUFFIX"]
ANSWERS = {
    "eng": [0, 0, 0, 0],
    "fra": [1, 0, 0, -1],
    "deu": [0, 1, 0, 1],
    "jpn": [0, 1, 1, 1],
    "jav": [-1, 0, -1, -1],
}


@pytest.fixture
def table(tmp_path: Path) -> Typology:
    """A file as the package has it: answers by language, question and source; another source says yes throughout."""
    answers = np.array(list(ANSWERS.values()), dtype=np.float32)
    data = np.stack([np.ones_like(answers), answers], axis=2)
    arrays = {"feats": np.array(QUESTIONS), "langs": np.array(list(ANSWERS)), "sources": np.array(["SSWL", "WALS"])}
    np.savez(tmp_path / "features.npz", data=data, **arrays)
    return Typology.read(tmp_path / "features.npz")


def test_similarity_is_the_share_of_equal_answers(table: Typology) -> None:
    assert table.similarity("en", "fr") == pytest.approx(2 / 3), "one of three answers differs; case is unknown"
    assert table.similarity("en", "de") == 0.5
    assert table.similarity("de", "ja") == 0.75
    assert table.similarity("deu", "en") == table.similarity("en", "de")
    with pytest.raises(InputError, match="no features of language 'sv'"):
        table.similarity("en", "sv")


def test_rules_of_word_order_by_features(table: Typology) -> None:
    assert table.rules("fr", target="en") == (("adjectives",), ())
    assert table.rules("de", target="en") == (("objects",), ())
    assert table.rules("en", target="fr") == ((), ()), "a rule moves words in one direction only"
    assert table.rules("ja", target="de") == ((), ())
    assert table.rules("jv", target="en") == ((), ("adjectives",))


def test_correlation_with_mean_vectors(table: Typology) -> None:
    means = {"en": [3.0, 1.0], "fr": [2.0, 2.0], "de": [0.5, 3.0], "ja": [-1.0, 3.0]}
    centroids = language_centroids({code: [row, row] for code, row in means.items()})
    result = correlate_with_typology(centroids, table)
    pairs = [(a, b) for i, a in enumerate(means) for b in list(means)[i + 1 :]]
    features = [table.similarity(*pair) for pair in pairs]
    cosines = [np.dot(means[a], means[b]) / np.linalg.norm(means[a]) / np.linalg.norm(means[b]) for a, b in pairs]
    expected = [test(cosines, features).statistic for test in (kendalltau, pearsonr, spearmanr)]
    assert result.pairs == 6
    np.testing.assert_allclose(result[1:], expected)
    assert correlate_with_typology(centroids, table, pivot="en").pairs == 3
    with pytest.raises(InputError, match="at least three pairs of languages, got 1"):
        correlate_with_typology(language_centroids({"en": [[1.0]], "fr": [[2.0]]}), table)


def test_other_files_and_missing_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "features.npz").write_bytes(b"x")
    with pytest.raises(FileFormatError, match="is not a file of features"):
        Typology.read(tmp_path / "features.npz")
    card = replace(catalog.CARDS["wals"], digests={"features.npz": file_digest(tmp_path / "features.npz")})
    monkeypatch.setitem(catalog.CARDS, "wals", card)
    with pytest.raises(MissingExtraError, match="nlgauge models pull wals"):
        load_typology()
    assert typology.WORD_ORDER.keys() == {"adjectives", "objects"}


def test_the_published_features() -> None:
    """WALS: 87A, noun-adjective in French, Italian, Spanish; 83A, OV in Turkish, Hindi, Japanese; German: both."""
    if cached_card(catalog.CARDS["wals"]) is None:
        pytest.skip("run: nlgauge models pull wals")
    table = load_typology()
    for code in ("fr", "it", "es"):
        assert table.rules(code, target="en") == (("adjectives",), ())
    for code in ("de", "tr", "hi", "ja"):
        assert table.rules(code, target="en") == (("objects",), ())
    assert table.rules("fi", target="en") == ((), ())
    assert table.similarity("en", "de") > table.similarity("en", "tr")
