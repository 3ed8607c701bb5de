"""The cards of data sets fit the loaders and the files that they name."""

from __future__ import annotations

import inspect

import pytest

import nlgauge.data
from nlgauge.data.cards import DATA_CARDS, DataCard, known_files


@pytest.mark.parametrize("card", DATA_CARDS.values(), ids=list(DATA_CARDS))
def test_a_card_names_only_parameters_of_its_loader(card: DataCard) -> None:
    path, *parameters = inspect.signature(card.import_loader()).parameters
    assert path == "path"
    assert "langpairs" in parameters
    assert {*card.fixed, *card.defaults, *card.hidden} <= set(parameters)
    assert not card.fixed.keys() & card.defaults.keys()
    assert card.check_options.keys() <= card.options.keys()


def test_known_files_belong_to_data_sets() -> None:
    assert known_files().keys() <= DATA_CARDS.keys()
    assert [name for name, card in DATA_CARDS.items() if not card.files] == ["custom"]
    (group,) = DATA_CARDS["wmt16"].files
    assert (group.pattern, group.files, group.digest) == ("16_*_formated.json", None, "")


def test_public_names_can_be_imported() -> None:
    for name in nlgauge.data.__all__:
        assert getattr(nlgauge.data, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'load_nothing'"):
        _ = nlgauge.data.load_nothing
