"""The published tables by id."""

from __future__ import annotations

from collections.abc import Mapping

from nlgauge.errors import RecipeError
from nlgauge.studies.published.load import load_tables
from nlgauge.studies.published.tables import PaperTable

#: Files of the folder `papers`, in the order of the list.
PAPERS = (
    "chen_2022",
    "moverscore_2019",
    "bertscore_2020",
    "discoscore_2023",
    "sentsim_2021",
    "xmoverscore_2020",
    "peyrard_2021",
    "zhao_dissertation",
    "kaster_2021",
)
PAPER_TABLES: Mapping[str, PaperTable] = {table.id: table for paper in PAPERS for table in load_tables(paper)}


def find_paper_table(name: str) -> PaperTable:
    """The table or figure of that id; `table3` and `figure1` alone are the reproducibility study's."""
    name = f"repro-{name}" if name.startswith(("table", "figure")) else name
    if name not in PAPER_TABLES:
        msg = f"no published table is known as {name!r}; known are {', '.join(PAPER_TABLES)}"
        raise RecipeError(msg)
    return PAPER_TABLES[name]
