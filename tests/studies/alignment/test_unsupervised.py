"""A re-mapping without parallel text, from vocabularies; what cannot be aligned is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.studies.alignment.planted import Planted, planted, vocabulary

from nlgauge.encoders.load import load_encoder
from nlgauge.errors import AlignmentNotFoundError, InputError, RecipeError
from nlgauge.studies.alignment.unsupervised import (
    SearchOptions,
    Unsupervised,
    fit_unsupervised,
    held_out_agreement,
    vocabularies_of_texts,
)
from nlgauge.studies.alignment.vocabulary import Vocabulary
from nlgauge.studies.alignment.word_spaces import ModelLayer, Pairs
from nlgauge.vectors.remap import Origin, Remapping


def sides(spaces: Planted) -> tuple[Vocabulary, Vocabulary]:
    return vocabulary(spaces.source, "wort"), vocabulary(spaces.target, "word")


def nearest_is_right(matches: Unsupervised, spaces: Planted) -> float:
    mapped = matches.remapping.apply(spaces.source)
    target = matches.remapping.apply(spaces.target, side="target")
    distance = np.linalg.norm(mapped[:, None] - target[None], axis=2)
    return float((distance.argmin(axis=1) == spaces.answer).mean())


@pytest.mark.heavy
def test_the_map_of_a_planted_rotation() -> None:
    spaces = planted(300, 20)
    result = fit_unsupervised(*sides(spaces), restarts=2, origin=Origin(source="de", target="en", note="a, b"))
    assert nearest_is_right(result, spaces) == 1
    assert result.remapping.origin.method == "unsupervised"
    assert result.remapping.origin.pairs == len(result.pairs)
    assert result.remapping.origin.note.startswith("a, b; criterion 0.9")
    assert ("wort0", f"word{spaces.answer[0]}") in result.pairs


@pytest.mark.heavy
@pytest.mark.parametrize("turned", [False, True])
def test_the_wider_side_is_brought_to_the_width_of_the_other(tmp_path: Path, turned: bool) -> None:
    spaces = planted(300, 20, wider=32)
    if turned:
        back = np.argsort(spaces.answer)
        spaces = Planted(spaces.target, spaces.source, back)
    result = fit_unsupervised(*sides(spaces), restarts=1)
    assert nearest_is_right(result, spaces) == 1
    assert "PCA of widths" in result.remapping.origin.note
    result.remapping.save(tmp_path / "map.npz")
    again = Remapping.load(tmp_path / "map.npz")
    assert again.digest == result.remapping.digest
    assert (again.width, again.width_of("target")) == ((32, 20) if turned else (20, 32))
    for side, rows in (("source", spaces.source), ("target", spaces.target)):
        np.testing.assert_array_equal(again.apply(rows, side=side), result.remapping.apply(rows, side=side))  # type: ignore[arg-type]


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    spaces = planted(200, 15)
    for name in ("one.npz", "two.npz"):
        fit_unsupervised(*sides(spaces), restarts=1, seed=5).remapping.save(tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_failed_alignment_is_an_error_without_a_file() -> None:
    chance = np.random.default_rng(0)
    unrelated = [vocabulary(chance.normal(size=(200, 20)).astype(np.float32), name) for name in ("wort", "word")]
    with pytest.raises(
        AlignmentNotFoundError, match=r"no alignment found: .* mean cosines of 0\.\d+, chance is 0\.\d+; gain "
    ):
        fit_unsupervised(unrelated[0], unrelated[1], restarts=1)


def test_held_out_agreement_is_low_for_random_pairs() -> None:
    """Pairs of chance in a wide space: the rotation fits those it has seen, and finds no others."""
    chance = np.random.default_rng(1)
    x, z = (chance.normal(size=(80, 60)).astype(np.float32) for _ in range(2))
    assert held_out_agreement(x, z, Pairs(np.arange(80), np.arange(80))) < 0.1
    turned = (x @ np.linalg.qr(chance.normal(size=(60, 60)))[0]).astype(np.float32)
    everything = Pairs(np.tile(np.arange(80), 2), np.tile(np.arange(80), 2))
    assert held_out_agreement(x, turned, everything) > 0.9


def known(spaces: Planted, count: int, *, shift: int = 0) -> list[tuple[str, str]]:
    """Translations of the first words; `shift`: wrong ones."""
    return [(f"wort{i}", f"word{spaces.answer[i + shift]}") for i in range(count)]


def test_known_translations_decide_whether_a_map_is_accepted() -> None:
    spaces = planted(200, 15)
    words, others = sides(spaces)
    right = fit_unsupervised(words, others, restarts=1, known=known(spaces, 20))
    without = fit_unsupervised(words, others, restarts=1)
    assert right.remapping.digest == without.remapping.digest  # they take no part in the fit
    assert "precision 1.000 of 20 known translations" in right.remapping.origin.note
    with pytest.raises(AlignmentNotFoundError, match=r"recovers 0\.000 of 20 known translations \(minimum 0\.5\)"):
        fit_unsupervised(words, others, restarts=1, known=known(spaces, 20, shift=1))
    with pytest.raises(InputError, match="9 of 10 known translations are frequent words of both texts, but 10"):
        fit_unsupervised(words, others, restarts=1, known=[*known(spaces, 9), ("nowhere", "word1")])


def test_single_characters_need_known_translations() -> None:
    """Characters of Chinese can be paired consistently although they are no words."""
    spaces = planted(200, 15)
    words, others = sides(spaces)
    characters = words._replace(words=tuple(chr(0x4E00 + i) for i in range(200)))
    with pytest.raises(AlignmentNotFoundError, match=r"100% of 200 paired words are single characters.*--known FILE"):
        fit_unsupervised(characters, others, restarts=1)
    gold = [(chr(0x4E00 + i), f"word{spaces.answer[i]}") for i in range(20)]
    assert len(fit_unsupervised(characters, others, restarts=1, known=gold).pairs) == 200
    few = words._replace(words=(*characters.words[:90], *words.words[90:]))
    assert len(fit_unsupervised(few, others, restarts=1).pairs) == 200


def test_the_start_depends_on_the_models() -> None:
    one_model = Origin(model="m", weights="w", layer=1)
    two_models = one_model._replace(target_model="n", target_weights="v", target_layer=1)
    assert SearchOptions().start_for(one_model) == "identity"
    assert SearchOptions(start="self-learning").start_for(one_model) == "self-learning"
    assert SearchOptions().start_for(two_models) == "self-learning"
    with pytest.raises(RecipeError, match="start 'identity' needs one model and layer for both sides"):
        SearchOptions(start="identity").start_for(two_models)
    spaces = planted(200, 15)
    same = spaces._replace(target=spaces.source[np.argsort(spaces.answer)])
    result = fit_unsupervised(*sides(same), origin=one_model)
    assert result.remapping.origin.method == "unsupervised-identity"
    assert "start identity, criterion 1.000" in result.remapping.origin.note
    assert nearest_is_right(result, same) == 1


@pytest.mark.long
def test_german_and_english_are_brought_together_without_a_dictionary(data_folder: Path) -> None:
    """Newstests 2017 and 2018; common words with the translations that any dictionary has."""
    encoder, texts = load_encoder("muse"), []
    for side in ("source/newstest{0}-deen-src.de", "references/newstest{0}-deen-ref.en"):
        files = [data_folder / f"wmt{year % 100}" / side.format(year) for year in (2017, 2018)]
        lines = [line for file in files for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
        texts.append(list(dict.fromkeys(lines)))
    side = ModelLayer(encoder, 0)
    words, others, origin = vocabularies_of_texts((side, side), (texts[0], texts[1]))
    result = fit_unsupervised(words, others, restarts=1, origin=origin)
    assert result.criterion > 0.75
    expected = {"und": "and", "jahr": "year", "wasser": "water", "polizei": "police", "regierung": "government"}
    assert expected.items() <= dict(result.pairs).items()


def test_input_errors() -> None:
    source, target = sides(planted(60, 5))
    with pytest.raises(InputError, match="source text has 999 different words, but 1000 are needed"):
        fit_unsupervised(source._replace(types=999), target)
    few = Vocabulary(target.words[:4], target.vectors[:4], target.counts[:4], 1000)
    with pytest.raises(InputError, match="4 frequent words of the target do not span 5 dimensions"):
        fit_unsupervised(source, few)
    broken = target.vectors.copy()
    broken[7, 0] = np.inf
    with pytest.raises(InputError, match="word 'word7' of the target is not finite"):
        fit_unsupervised(source, target._replace(vectors=broken))
    with pytest.raises(InputError, match="the same model and one language"):
        fit_unsupervised(source, source)
    with pytest.raises(InputError, match="the same model and language 'de'"):
        fit_unsupervised(source, target, origin=Origin(source="de", target="de"))
