"""What is left out of a cloud: special tokens, stop words, pieces of words."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.samples import HYPS, REFS

import nlgauge
from nlgauge.encoders.load import load_encoder


def test_special_tokens_can_be_dropped() -> None:
    kept, dropped = (
        nlgauge.score(HYPS, REFS, metric=f"moverscore:idf=none,specials={choice}", alignments=True)
        for choice in ("keep", "drop")
    )
    assert kept.alignments is not None
    assert dropped.alignments is not None
    first_kept, first_dropped = kept.alignments[0], dropped.alignments[0]
    assert first_kept is not None
    assert first_dropped is not None
    assert "[CLS]" in first_kept.hypothesis_tokens
    assert not {"[CLS]", "[SEP]"} & set(first_dropped.hypothesis_tokens)
    assert dropped.signature.recipe["profile"] == "v1*"
    with pytest.warns(nlgauge.errors.ZeroWeightWarning):
        bare = nlgauge.score(["...", "Bread."], ["Bread.", "Bread."], metric="moverscore:idf=none,specials=drop")
    assert bare.score[0] == 0
    assert bare.counts["zero_weight"] == 1


@pytest.mark.parametrize(
    ("subwords", "kept"),
    [("first", "office thesis"), ("all", "office ##ge ##m thesis"), ("average", "office ofgem thesis")],
)
def test_stop_words_depend_on_the_unit_of_words(tmp_path: Path, subwords: str, kept: str) -> None:
    """ "ofgem" is "of" + "##gem" in this vocabulary; only whole words tell it from "of"."""
    stop = tmp_path / "stop.txt"
    stop.write_text("the\na\nof\n")
    metric = f"moverscore:idf=none,specials=drop,subwords={subwords},stopwords={stop}"
    text = "The office of ofgem thesis"
    score = nlgauge.score([text], [text], metric=metric, alignments=True)
    assert score.alignments is not None
    flow = score.alignments[0]
    assert flow is not None
    tokens = load_encoder("minilm").tokenizer
    (encoded,) = tokens.encode(["ofgem"])
    assert tokens.token_strings(encoded) == ("[CLS]", "of", "##ge", "##m", "[SEP]")
    assert flow.hypothesis_tokens == flow.reference_tokens == tuple(kept.split())
