"""METEOR: NLTK's numbers, numbers by hand, its options, and WordNet from other places."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import align_words, single_meteor_score
from scipy.stats import spearmanr

import nlgauge
from nlgauge.data import load
from nlgauge.errors import FileFormatError, RecipeError
from nlgauge.io.store.resolve import resolve
from nlgauge.metrics.parts.word_matches import WordMatcher, porter_stemmer
from nlgauge.text.wordnet import WordNet, load_wordnet

HYPS = [
    "the cat sat on the mat near the old house",
    "police killed the gunman in the city",
    "a man rides a brown horse on the beach",
]
REFS = [
    ["a cat was on the mat of the old house", "the old cat sat on a mat"],
    ["police kill the gunman", "the gunman kill police"],
    ["a person is riding a horse along a beach", "a man on a horse near the sea"],
]

#: nltk.translate.meteor_score of NLTK 3.10.4 with its corpus `wordnet`, for each reference.
NLTK = [[0.672449, 0.770548], [0.734012, 0.465116], [0.473765, 0.526406]]


class Lemma:
    """A word of NLTK's WordNet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name

    def lemmas(self) -> list[Lemma]:
        return [self]


class SynonymSets:
    """The part of NLTK's corpus reader that its METEOR uses, on our WordNet."""

    def __init__(self, wordnet: WordNet) -> None:
        self._wordnet = wordnet

    def synsets(self, word: str) -> list[Lemma]:
        return [Lemma(name) for name in self._wordnet.synonyms(word)]


@pytest.mark.parametrize("rule", ["best", "mean"])
def test_scores_are_those_of_nltk(rule: str) -> None:
    score = nlgauge.score(HYPS, REFS, f"meteor:tokenize=none,multiref={rule}")
    join = {"best": max, "mean": lambda values: sum(values) / len(values)}[rule]
    assert score.meteor.tolist() == pytest.approx([join(values) for values in NLTK], abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"alpha": 0.5, "beta": 1.0, "gamma": 0.3}])
def test_parameters_are_those_of_nltk(options: dict[str, float]) -> None:
    words = SynonymSets(load_wordnet())
    expected = [
        single_meteor_score(group[0].split(), text.split(), wordnet=words, **options)
        for text, group in zip(HYPS, REFS, strict=True)
    ]
    metric = nlgauge.metrics.METEOR(tokenize="none", **options)
    assert metric.score(HYPS, [group[0] for group in REFS]).meteor.tolist() == expected


def test_synonyms_are_those_of_nltk() -> None:
    """`{lemma.name() for synset in wordnet.synsets(word) for lemma in synset.lemmas()}` of NLTK 3.10.4, by word."""
    synonyms = load_wordnet().synonyms
    assert synonyms("car") == {"car", "auto", "automobile", "machine", "motorcar", "railcar", "gondola"}
    assert synonyms("mice") == {"mice", "mouse", "shiner"}, "an exception"
    assert synonyms("Automobil") == {"Automobil"}
    assert "old" in synonyms("older")
    assert "galore" in synonyms("galore"), "its mark '(ip)' is not a part of the word"


def test_synonyms_of_stems_are_rare() -> None:
    """By hand: "automobile" and "car" are synonyms; NLTK looks up the stem "automobil", which is not a word."""
    pair = (["a big automobile"], ["a big car"])
    assert nlgauge.score(*pair, "meteor").meteor[0] == nlgauge.score(*pair, "meteor:synonyms=none").meteor[0]
    three_in_a_chunk = 1 - 0.5 * (1 / 3) ** 3
    assert nlgauge.score(*pair, "meteor:lookup=words").meteor[0] == pytest.approx(three_in_a_chunk)


def test_by_hand_without_data() -> None:
    """Matches "dogs"-"dog" (stem) and "ran"-"ran" in one chunk: P = 2/3, R = 2/2, F = (2/3) / (.9 2/3 + .1)."""
    score = nlgauge.score(["the dogs ran"], ["dog ran"], "meteor:synonyms=none")
    assert score.meteor[0] == pytest.approx((1 - 0.5 * (1 / 2) ** 3) * (2 / 3) / 0.7)
    exact = nlgauge.score(["the dogs ran"], ["dog ran"], "meteor:synonyms=none,stemmer=none")
    assert exact.meteor[0] == pytest.approx((1 - 0.5) * (1 / 6) / (0.9 / 3 + 0.1 / 2))
    assert nlgauge.score(["The end"], ["the END"], "meteor:synonyms=none,stemmer=none,case=mixed").meteor[0] == 0


def test_matches_are_those_of_nltk() -> None:
    wordnet = load_wordnet()
    matcher = WordMatcher(porter_stemmer(), wordnet.synonyms)
    for text, group in zip(HYPS, REFS, strict=True):
        output, reference = text.split(), group[0].split()
        expected, _, _ = align_words(output, reference, PorterStemmer(), SynonymSets(wordnet))
        assert matcher.links(output, reference) == tuple(expected)


def test_signature_has_the_files_and_reads_back(tmp_path: Path) -> None:
    named = nlgauge.score(HYPS, REFS, "meteor")
    label = named.signature.recipe["synonyms"]
    assert label == "wordnet[516743a1807c]"
    assert nlgauge.score(HYPS, REFS, str(named.signature)).meteor.tolist() == named.meteor.tolist()

    with zipfile.ZipFile(resolve("wordnet").path / "wordnet.zip") as archive:
        archive.extractall(tmp_path)
    own = nlgauge.score(HYPS, REFS, f"meteor:synonyms={tmp_path / 'wordnet'}")
    assert own.signature.recipe["synonyms"] == label.replace("wordnet", "file")
    assert own.meteor.tolist() == named.meteor.tolist()
    with pytest.raises(nlgauge.errors.SignatureError, match="set synonyms=PATH"):
        nlgauge.score(HYPS, REFS, str(own.signature))


def test_incomplete_folders_and_useless_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"'adj\.exc' is missing.*nlgauge models pull wordnet"):
        load_wordnet(str(tmp_path))
    with pytest.raises(RecipeError, match="lookup"):
        nlgauge.metrics.METEOR(synonyms="none", lookup="words")


def test_correlations_on_bagel_are_near_print(data_folder: Path) -> None:
    """MoverScore's Table 3 has .251, .127 and .116. METEOR 1.5 (its jar, on these texts) has .249, .127 and .121."""
    table = load("bagel", data_folder)
    metric = nlgauge.metrics.METEOR(alpha=0.85, beta=0.2, gamma=0.6, lookup="words")
    scores = metric.score(table.hypothesis, table.references).meteor
    printed = {"informativeness": 0.251, "naturalness": 0.127, "quality": 0.116}
    for criterion, value in printed.items():
        assert spearmanr(scores, table.gold(criterion)).statistic == pytest.approx(value, abs=0.021)
