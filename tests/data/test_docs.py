"""What docs/data.md shows is what a reader gets."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from nlgauge.data import DATA_CARDS

TEXT = (Path(__file__).parents[2] / "docs/data.md").read_text(encoding="utf-8")


def test_the_example_prints_what_is_shown() -> None:
    code, _, rest = TEXT.split("```python\n")[1].partition("```\n")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    shown = [line[4:] for line in rest.strip("\n").split("\n\n")[0].split("\n")]
    assert out.getvalue().splitlines() == shown


def test_every_data_set_is_in_the_table_with_options_it_takes() -> None:
    rows = [line.split("|")[1:5] for line in TEXT.splitlines() if line.startswith("| `")]
    named = {name.strip(" `"): cells for cells in rows for name in cells[0].split(",")}
    assert set(named) == set(DATA_CARDS)
    for name, cells in named.items():
        options = [option.split("=")[0].strip("` ") for option in cells[3].split(",") if option.strip()]
        assert set(options) == set(DATA_CARDS[name].options) - {"file"}, name
