"""The published tables by id."""

from __future__ import annotations

from collections.abc import Mapping

from nlgauge.errors import RecipeError
from nlgauge.studies.paper_studies_reproducibility import REPRODUCIBILITY_STUDIES
from nlgauge.studies.paper_tables import PaperTable
from nlgauge.studies.paper_tables_bertscore import BERTSCORE_TABLES
from nlgauge.studies.paper_tables_moverscore import MOVERSCORE_TABLES
from nlgauge.studies.paper_tables_reproducibility import REPRODUCIBILITY_TABLES
from nlgauge.studies.paper_tables_sentsim import SENTSIM_TABLES
from nlgauge.studies.paper_tables_xmoverscore import XMOVERSCORE_TABLES

__all__ = ["PAPER_TABLES", "find_paper_table"]

PAPER_TABLES: Mapping[str, PaperTable] = {
    table.id: table
    for table in (
        *REPRODUCIBILITY_TABLES,
        *REPRODUCIBILITY_STUDIES,
        *MOVERSCORE_TABLES,
        *BERTSCORE_TABLES,
        *SENTSIM_TABLES,
        *XMOVERSCORE_TABLES,
    )
}


def find_paper_table(name: str) -> PaperTable:
    """The table or figure of that id; `table3` and `figure1` alone are the reproducibility study's."""
    name = f"repro-{name}" if name.startswith(("table", "figure")) else name
    if name not in PAPER_TABLES:
        msg = f"no published table is known as {name!r}; known are {', '.join(PAPER_TABLES)}"
        raise RecipeError(msg)
    return PAPER_TABLES[name]
