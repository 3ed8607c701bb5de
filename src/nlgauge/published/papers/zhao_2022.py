"""Chapter 10 of W. Zhao's dissertation: the simulation, as far as it has numbers in print."""

from __future__ import annotations

from dataclasses import dataclass

from nlgauge.published.density import Setup
from nlgauge.published.table import Column, PaperTable, TableRow

__all__ = ["DENSITY_TABLES", "DensityRow", "DensityTable"]


@dataclass(frozen=True)
class DensityRow(TableRow):
    """A method; one that is only shown has no key."""

    key: str = ""

    @property
    def computed(self) -> bool:
        """Whether nlgauge has a way to compute it."""
        return bool(self.key)


@dataclass(frozen=True)
class DensityTable(PaperTable):
    """Methods by setups of the simulation."""

    rows: tuple[DensityRow, ...]
    setups: tuple[Setup, ...] = ()
    """Of the columns, in their order."""


_SETUPS = {
    **{f"t={steps}": Setup(steps=steps) for steps in (1, 2, 3, 5, 10)},
    **{f"k={count}": Setup(occurrences=count) for count in (5, 20)},
    **{f"eps={shift:g}": Setup(shift=shift) for shift in (1.0, 3.0, 5.0)},
    **{f"bent t={steps}": Setup(steps=steps, kind="bent") for steps in (1, 2, 3)},
}

DENSITY_TABLES = (
    DensityTable(
        "density-simulation",
        "simulated languages in a plane: words whose nearest is their own after a map, per cent, mean of runs",
        "Zhao, dissertation (TU Darmstadt), chapter 10, section 4 and Figure 3",
        tuple(Column(label, None) for label in _SETUPS),
        (
            DensityRow("Rotation", key="Rotation"),
            DensityRow("centred rotation", key="centred rotation", note="not in the paper (D10.9)"),
            DensityRow("least squares", key="least squares", note="not in the paper"),
            DensityRow("Real-NVP", {"t=5": 64.3}, key="Real-NVP"),
            DensityRow("GAN-Real-NVP", {"t=5": 51.3}, note="only shown: print gives no options (D10.1)"),
        ),
        decimals=1,
        scale=100,
        row_title="method",
        notes=(
            "where a column does not say otherwise: t=5 moves, k=100 occurrences of each word, eps=0",
            "as written, t moves are one rigid motion, which the centred rotation finds (D10.9)",
            "bent: ours, each move bends the plane too; there is no such column in print",
            "found is an occurrence whose nearest is one of the same word; print does not say what counts",
        ),
        setups=tuple(_SETUPS.values()),
    ),
)
