"""The models nlgauge knows by name can be found, fetched and checked."""

from __future__ import annotations

from nlgauge.store import CARDS, find_card


def test_every_card_can_be_fetched_and_checked() -> None:
    for name, card in CARDS.items():
        assert card.name == name
        assert card.sources
        assert {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"} <= set(card.digests)
        assert all(len(digest) == 64 for digest in card.digests.values())
        for alias in (card.name, card.hub_id, *card.aliases):
            assert find_card(alias) is card


def test_weights_are_the_published_ones() -> None:
    # As recorded in the project's design, independently of the catalog.
    assert CARDS["minilm"].weights_digest == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert CARDS["mpnet"].weights_digest == "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"


def test_unknown_name_has_no_card() -> None:
    assert find_card("bert-base-uncased") is None
