"""The published tables by id."""

from __future__ import annotations

from collections.abc import Mapping

from nlgauge.errors import RecipeError
from nlgauge.studies.published.density import DENSITY_TABLES
from nlgauge.studies.published.papers.bertscore_2020 import BERTSCORE_HYBRIDS, BERTSCORE_TABLES
from nlgauge.studies.published.papers.chen_2022 import REPRODUCIBILITY_TABLES
from nlgauge.studies.published.papers.chen_2022_studies import REPRODUCIBILITY_STUDIES
from nlgauge.studies.published.papers.discoscore_2023 import DISCOSCORE_TABLES
from nlgauge.studies.published.papers.kaster_2021 import FACTOR_TABLES, ROBUSTNESS_TABLES
from nlgauge.studies.published.papers.moverscore_2019 import MOVERSCORE_TABLES
from nlgauge.studies.published.papers.peyrard_2021 import RANKING_TABLES
from nlgauge.studies.published.papers.sentsim_2021 import SENTSIM_TABLES
from nlgauge.studies.published.papers.xmoverscore_2020 import XMOVERSCORE_TABLES
from nlgauge.studies.published.tables import PaperTable

PAPER_TABLES: Mapping[str, PaperTable] = {
    table.id: table
    for table in (
        *REPRODUCIBILITY_TABLES,
        *REPRODUCIBILITY_STUDIES,
        *MOVERSCORE_TABLES,
        *BERTSCORE_TABLES,
        *BERTSCORE_HYBRIDS,
        *DISCOSCORE_TABLES,
        *SENTSIM_TABLES,
        *XMOVERSCORE_TABLES,
        *RANKING_TABLES,
        *DENSITY_TABLES,
        *FACTOR_TABLES,
        *ROBUSTNESS_TABLES,
    )
}


def find_paper_table(name: str) -> PaperTable:
    """The table or figure of that id; `table3` and `figure1` alone are the reproducibility study's."""
    name = f"repro-{name}" if name.startswith(("table", "figure")) else name
    if name not in PAPER_TABLES:
        msg = f"no published table is known as {name!r}; known are {', '.join(PAPER_TABLES)}"
        raise RecipeError(msg)
    return PAPER_TABLES[name]
