"""Tables of a study, from results made by hand."""

from __future__ import annotations

from nlgauge.studies.compare.rankings import Flip
from nlgauge.studies.sensitivity.results import Sensitivity, SettingEffect, SettingRanking

EFFECT = SettingEffect.of(
    "moverscore", "idf", "segment", ("original", "none"), {"cs-en": (0.5, 0.75), "de-en": (0.5, 0.45)}
)


def result(*flips: Flip) -> Sensitivity:
    ranking = SettingRanking("moverscore", "idf", "cs-en", ("original", "none"), {"a": (1.0, 2.0)}, (1.0, 1.0), flips)
    return Sensitivity("made", "idf", "pearson with DA", (), (EFFECT,), (ranking,))


def test_the_largest_relative_difference_is_that_of_a_pair_not_of_the_average() -> None:
    overview = result().tables()[0]
    (row,) = overview.rows
    assert dict(zip(overview.columns, row, strict=True))["largest RD %"] == EFFECT.groups["cs-en"].rd[1] == 50.0
    assert EFFECT.average.rd == (0.0, 20.0)


def test_where_nothing_flips_there_is_a_note_and_no_empty_table() -> None:
    assert all(table.rows for table in result().tables())
    assert result().render().count("No two systems swap ranks") == 1
    flip = Flip("a", "b", "none", 0.1, -0.1, 0.01, 0.02, True)
    text = result(flip).render()
    assert "Flips: pairs of systems that swap ranks" in text
    assert "No two systems swap ranks" not in text
