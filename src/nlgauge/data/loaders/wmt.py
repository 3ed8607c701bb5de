"""Loaders of the WMT metrics tasks, 2014 to 2019.

Packages of the WMT metrics task, 2017 to 2019, and of 2014 and 2015 with their rankings.

    DA-seglevel.csv     LP DATA SYSTEM SID HUMAN        segment scores; SID is a line, from 1
    DA-syslevel.csv     LP HUMAN SYSTEM                 scores of whole systems
    RR-seglevel.csv     LP DATA SID BETTER WORSE        preferences; the header lacks one of the five names
    NAME.csv            srclang ... system5rank         before 2017: rankings of up to five outputs, between commas
    references/         newstest2017-csen-ref.en        one segment per line; also newstest2014-ref.cs-en
    source(s)/          newstest2017-csen-src.cs        also newstest2014-src.cs-en
    system-outputs/     cs-en/newstest2017.online-A.0.cs-en, or one folder deeper

The columns are separated by spaces in spite of the extension. A system `a+b` means systems with the same output; it
is loaded as the first. Files and rows of hybrids (mixtures of systems) have `.hybrid` in their names and are dropped;
a real system such as `tilde-nc-nmt-smt-hybrid.5050` has a hyphen instead of the dot and is kept.

A ranking has a judge's ranks of outputs for the line `srcIndex`, from 1: lower is better, ties are allowed, and -1 is
blank. Any two outputs with different ranks are a preference; those of several judges all count.

WMT15 and WMT16 segments as JSON, with metric scores.

    {15|16}_{pair}_formated.json: id -> {system: {wmt15: {generated_sentence, scores: {human, ...}}},
                                         references_sentences}

Sentences end in a line feed, which is not part of the text. A released score is a number or a list of one.
The only system has the name of the task; the data does not name the system that wrote a sentence.

WMT17 direct assessments as one TSV per language pair, with lower-cased, Moses-tokenised text.

    testset_{pair}.tsv: LP source translation reference HUMAN_score sentBLEU, no quoting

560 rows per pair, 435 for lv-en. The text is unchanged, so scores differ from those of the official protocol
(`wmt17`), which detokenises. Rows do not name the system. Some sources have spreadsheet quotes: quotes around them
and doubled quotes inside; translations and references do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from nlgauge.data.judgements import UNKNOWN_SYSTEM, Documents, JudgementTable, RankedPairs, select_known
from nlgauge.data.loaders import (
    TableBuilder,
    files_below,
    find_below,
    language_files,
    moses_detokeniser,
    parallel_lines,
    quote_notes,
)
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.tables import (
    Row,
    as_row,
    is_spreadsheet_quoted,
    read_csv,
    read_json,
    read_lines,
    read_tsv,
    remove_quotes,
)

_SEGMENT_COLUMNS = ("LP", "DATA", "SYSTEM", "SID", "HUMAN")
_SYSTEM_COLUMNS = ("LP", "HUMAN", "SYSTEM")
_RANK_COLUMNS = ("LP", "DATA", "SID", "BETTER", "WORSE")

#: A column of files with rankings.
_RANK = "system1rank"


def load_wmt_package(
    path: Path,
    *,
    year: int,
    level: str = "segment",
    detokenise: bool = False,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """Load a package: level `segment` has the rows with direct assessments, `system` every line of every system.

    `table.documents(langpair, system)` returns the complete file of a system, for idf per system file.
    """
    package = WmtPackage(path, year, detokenise)
    if level == "segment":
        return package.segment_table(langpairs)
    if level == "system":
        return package.system_table(langpairs)
    msg = f"level must be 'segment' or 'system', got {level!r}"
    raise RecipeError(msg)


def load_wmt_rankings(path: Path, *, year: int, langpairs: str | Iterable[str] | None = None) -> RankedPairs:
    """Load the human preferences of a package (RR-seglevel.csv)."""
    return WmtPackage(path, year).ranked_pairs(langpairs)


@dataclass(frozen=True)
class WmtPackage:
    """The folder of a package; `detokenise` joins Moses tokens of hypotheses and references, not of sources."""

    path: Path
    year: int
    detokenise: bool = False

    @property
    def name(self) -> str:
        """Name of the data in tables and errors."""
        return f"wmt{self.year % 100}"

    @cached_property
    def outputs(self) -> dict[str, dict[str, Path]]:
        """Output files by language pair and system, without hybrids."""
        folder = self._need("system-outputs")
        files: dict[str, dict[str, Path]] = {}
        for file in sorted(folder.rglob(f"newstest{self.year}.*")):
            stem, _, langpair = file.name.removesuffix(".txt").rpartition(".")
            system = stem.partition(".")[2]
            if system and not _is_hybrid(system):
                files.setdefault(langpair, {})[system] = file
        if not files:
            msg = f"{folder}: expected files like 'cs-en/newstest{self.year}.online-A.0.cs-en', got none"
            raise InputError(msg)
        return dict(sorted(files.items()))

    def documents(self, langpair: str, system: str) -> Documents:
        """Read all lines of one system's file, with the parallel references and sources."""
        (langpair,) = select_known(langpair, list(self.outputs), f"{self.name}: language pair")
        (system,) = select_known(system, list(self.outputs[langpair]), f"{self.name}, {langpair}: system")
        join = self._joiner(langpair)
        parallel = self._parallel(langpair)
        hypotheses = self._lines_of(system, langpair, parallel)
        return Documents(
            parallel.sources,
            tuple(map(join, hypotheses)),
            tuple((join(text),) for text in parallel.references),
        )

    def translations(self, langpair: str) -> tuple[list[str], list[str]]:
        """Read all sources of a language pair and their references."""
        parallel = self._parallel(langpair)
        if parallel.sources is None:
            msg = f"{self.path}: no folder 'source' or 'sources'"
            raise InputError(msg)
        join = self._joiner(langpair)
        return list(parallel.sources), [join(text) for text in parallel.references]

    def segment_table(self, langpairs: str | Iterable[str] | None = None) -> JudgementTable:
        """Build a table of the rows of DA-seglevel.csv for which the package contains the outputs."""
        rows = [
            row
            for row in self._rows("DA-seglevel.csv", _SEGMENT_COLUMNS)
            if row.text("DATA").startswith("newstest") and not _is_hybrid(row.text("SYSTEM"))
        ]
        judged = list(dict.fromkeys(row.text("LP") for row in rows))
        available = sorted(set(judged) & set(self.outputs))
        selected = select_known(langpairs, available, f"{self.name}: judged language pair")
        build = TableBuilder()
        for langpair in selected:
            self._add_judged(build, langpair, [row for row in rows if row.text("LP") == langpair])
        absent = sorted(set(judged) - set(available))
        notes = (
            (f"no system outputs for {', '.join(absent)}, only scores in DA-seglevel.csv",)
            if absent and not langpairs
            else ()
        )
        scores = self.system_scores(selected)
        return build.table(self.name, default_criterion="HUMAN", system_scores=scores, notes=notes, files=self)

    def _add_judged(self, build: TableBuilder, langpair: str, rows: list[Row]) -> None:
        parallel = self._parallel(langpair)
        join = self._joiner(langpair)
        texts: dict[str, list[str]] = {}
        for row in rows:
            system = row.text("SYSTEM").partition("+")[0]
            if system not in self.outputs[langpair]:
                msg = f"{row.location('SYSTEM')}: no output file of {system!r} among those of {langpair}"
                raise FileFormatError(msg)
            if system not in texts:
                texts[system] = self._lines_of(system, langpair, parallel)
            line = row.integer("SID", low=1, high=len(parallel.references)) - 1
            build.add(
                row,
                segment=row.text("SID"),
                system=system,
                langpair=langpair,
                source=None if parallel.sources is None else parallel.sources[line],
                hypothesis=join(texts[system][line]),
                references=(join(parallel.references[line]),),
                human={"HUMAN": row.number("HUMAN")},
            )

    def system_table(self, langpairs: str | Iterable[str] | None = None) -> JudgementTable:
        """Build a table of every line of every system, with official scores of systems but not of segments."""
        selected = select_known(langpairs, list(self.outputs), f"{self.name}: language pair")
        build = TableBuilder()
        for langpair in selected:
            join = self._joiner(langpair)
            parallel = self._parallel(langpair)
            # One copy of the references for all systems keeps a table of 400,000 rows small.
            references = [(join(text),) for text in parallel.references]
            for system, file in self.outputs[langpair].items():
                for line, text in enumerate(self._lines_of(system, langpair, parallel)):
                    build.add(
                        Row(str(file), f"line {line + 1}", {}),
                        segment=str(line + 1),
                        system=system,
                        langpair=langpair,
                        source=None if parallel.sources is None else parallel.sources[line],
                        hypothesis=join(text),
                        references=references[line],
                    )
        scores = self.system_scores(selected)
        return build.table(self.name, default_criterion=None, system_scores=scores, notes=self._unpaired(scores))

    def system_scores(self, langpairs: Iterable[str]) -> dict[str, dict[str, float]]:
        """Read the official scores of systems, without hybrids; empty if the package has no DA-syslevel.csv."""
        if find_below(self.path, "DA-syslevel.csv") is None:
            return {}
        scores_of: dict[str, dict[str, float]] = {langpair: {} for langpair in langpairs}
        for row in self._rows("DA-syslevel.csv", _SYSTEM_COLUMNS):
            langpair, system = row.text("LP"), row.text("SYSTEM").partition("+")[0]
            if langpair not in scores_of or _is_hybrid(system):
                continue
            if system in scores_of[langpair]:
                msg = f"{row.location('SYSTEM')}: duplicate of {system!r}, {langpair}; a system has one score"
                raise FileFormatError(msg)
            scores_of[langpair][system] = row.number("HUMAN")
        return {langpair: scores for langpair, scores in scores_of.items() if scores}

    def ranked_pairs(self, langpairs: str | Iterable[str] | None = None) -> RankedPairs:
        """Read the preferences of RR-seglevel.csv; a language pair at the end of a system's name is removed.

        Packages before 2017 have files of rankings instead.
        """
        if find_below(self.path, "RR-seglevel.csv") is None and (files := self._ranking_files()):
            return self._rankings(files, langpairs)
        file = self._need("RR-seglevel.csv")
        if len(read_lines(file)[0].split()) == len(_RANK_COLUMNS) - 1:  # the header lacks a name
            rows = list(read_tsv(file, columns=_RANK_COLUMNS, separator=None, skip_header=True))
        else:
            rows = self._rows("RR-seglevel.csv", _RANK_COLUMNS)
        rows = [row for row in rows if not (_is_hybrid(row.text("BETTER")) or _is_hybrid(row.text("WORSE")))]
        available = list(dict.fromkeys(row.text("LP") for row in rows))
        chosen = set(select_known(langpairs, available, f"{file}: language pair"))
        selected = [row for row in rows if row.text("LP") in chosen]
        for row in selected:
            row.integer("SID", low=1, high=10**9)
        return RankedPairs(
            name=self.name,
            langpair=tuple(row.text("LP") for row in selected),
            segment=tuple(row.text("SID") for row in selected),
            better=tuple(row.text("BETTER").removesuffix(f".{row.text('LP')}") for row in selected),
            worse=tuple(row.text("WORSE").removesuffix(f".{row.text('LP')}") for row in selected),
        )

    def _ranking_files(self) -> list[Path]:
        """Files with rankings of up to five outputs, by their header."""
        files = sorted(files_below(self.path, "**/*.csv"))
        return [file for file in files if _RANK in read_lines(file)[0].split(",")]

    def _rankings(self, files: Iterable[Path], langpairs: str | Iterable[str] | None) -> RankedPairs:
        """Turn each ranking into the preferences between its outputs."""
        output = re.compile(rf"newstest{self.year}\.(.+)\.([a-z]{{2}}-[a-z]{{2}})(?:\.txt)?")
        preferences: list[tuple[str, str, str, str]] = []
        for row in (row for file in files for row in read_csv(file)):
            line = str(row.integer("srcIndex", low=1, high=10**9))
            ranks: dict[tuple[str, str], float] = {}
            for number in range(1, 1 + sum(name.endswith("rank") for name in row.values)):
                rank = row.number(f"system{number}rank")
                if rank < 1:
                    continue
                match = output.fullmatch(row.text(f"system{number}Id"))
                if match is None:
                    row.refuse(f"system{number}Id", f"a name like 'newstest{self.year}.online-A.0.cs-en'")
                system = match[1].partition("+")[0]
                if not _is_hybrid(system):
                    ranks[match[2], system] = rank
            for (first, second), (other, third) in permutations(ranks, 2):
                if first == other and ranks[first, second] < ranks[other, third]:
                    preferences.append((first, line, second, third))
        available = list(dict.fromkeys(pair for pair, *_ in preferences))
        chosen = set(select_known(langpairs, available, f"{self.name}: ranked language pair"))
        selected = [preference for preference in preferences if preference[0] in chosen]
        langpair, segment, better, worse = zip(*selected, strict=True)
        return RankedPairs(self.name, langpair, segment, better, worse)

    def _unpaired(self, scores: dict[str, dict[str, float]]) -> tuple[str, ...]:
        notes = []
        for langpair, judged in scores.items():
            outputs = self.outputs[langpair]
            if silent := sorted(set(judged) - set(outputs)):
                notes.append(f"{langpair}: scores without outputs for {', '.join(silent)}")
            if unjudged := sorted(set(outputs) - set(judged)):
                notes.append(f"{langpair}: outputs without scores for {', '.join(unjudged)}")
        return tuple(notes)

    def _rows(self, name: str, columns: tuple[str, ...]) -> list[Row]:
        return list(read_tsv(self._need(name), needed=columns, separator=None))

    def _need(self, name: str) -> Path:
        file = find_below(self.path, name)
        if file is None:
            msg = f"{self.path}: no {name!r} in this folder or below; name the folder of the unpacked data set"
            raise InputError(msg)
        return file

    def _parallel(self, langpair: str) -> _Parallel:
        source, _, target = langpair.partition("-")
        start = f"newstest{self.year}-{source}{target}"
        older = f"newstest{self.year}"
        file = find_below(self.path, f"{older}-ref.{langpair}") or self._need(f"{start}-ref.{target}")
        references = read_lines(file)
        if find_below(self.path, "source", "sources") is None:
            return _Parallel(file, references, None)
        texts = find_below(self.path, f"{older}-src.{langpair}") or self._need(f"{start}-src.{source}")
        sources = parallel_lines(texts, file, len(references))
        return _Parallel(file, references, tuple(sources))

    def _lines_of(self, system: str, langpair: str, parallel: _Parallel) -> list[str]:
        return parallel_lines(self.outputs[langpair][system], parallel.file, len(parallel.references))

    def _joiner(self, langpair: str) -> Callable[[str], str]:
        return moses_detokeniser(langpair.rpartition("-")[2]) if self.detokenise else str


class _Parallel(NamedTuple):
    """References and sources shared by all systems of a language pair."""

    file: Path
    references: list[str]
    sources: tuple[str, ...] | None


def _is_hybrid(system: str) -> bool:
    """Whether a name is that of a hybrid; the dot may be the one before the system in a file's name."""
    return ".hybrid" in f".{system}"


_TASKS = ("wmt15", "wmt16")


def load_wmt_json(path: Path, *, year: int, langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """Load the files `{year}_{pair}_formated.json` of a folder; gold is `human`, direct assessment."""
    build = TableBuilder()
    name = rf"{year}_([a-z]{{2}}-[a-z]{{2}})_formated\.json"
    for langpair, file in language_files(path, f"{year}_*_formated.json", name, langpairs).items():
        for segment, item in read_json(file).items():
            row = as_row(item, str(file), f"item {segment!r}")
            references = tuple(text.removesuffix("\n") for text in row.texts("references_sentences"))
            outputs = row.inner("system")
            for system in outputs.values:
                output = outputs.inner(system)
                scores = output.inner("scores")
                build.add(
                    output,
                    segment=segment,
                    system=UNKNOWN_SYSTEM if system in _TASKS else system,
                    langpair=langpair,
                    hypothesis=output.text("generated_sentence").removesuffix("\n"),
                    references=references,
                    human={"human": scores.number("human")},
                    released={key: _number(scores, key) for key in scores.values if key != "human"},
                )
    table = build.table(f"wmt{year}", default_criterion="human")
    # BaryScore's variants are transport costs; the other released scores are similarities.
    return replace(table, distances=frozenset(name for name in table.released if "nbarycenters" in name))


def _number(scores: Row, key: str) -> float:
    value = scores.value(key)
    if isinstance(value, list):
        if len(value) != 1:
            scores.refuse(key, "a number or a list of one number")
        return Row(scores.file, scores.where, {key: value[0]}).number(key)
    return scores.number(key)


_COLUMNS = ("LP", "source", "translation", "reference", "HUMAN_score", "sentBLEU")


def load_wmt_testset(
    path: Path, *, unquote: bool = False, langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """Load the files `testset_{pair}.tsv` of a folder; a segment's id is its row, from 1.

    `unquote=True` removes spreadsheet quotes from the sources, which then equal those of the WMT package.
    """
    build = TableBuilder()
    quoted = 0
    files = language_files(path, "testset_*.tsv", r"testset_([a-z]{2}-[a-z]{2})\.tsv", langpairs)
    for langpair, file in files.items():
        for number, row in enumerate(read_tsv(file, needed=_COLUMNS), start=1):
            if row.text("LP") != langpair:
                msg = f"{row.location('LP')}: expected {langpair!r} as in the file's name, got {row.text('LP')!r}"
                raise FileFormatError(msg)
            source = row.text("source")
            quoted += is_spreadsheet_quoted(source)
            build.add(
                row,
                segment=str(number),
                langpair=langpair,
                source=remove_quotes(source) if unquote else source,
                hypothesis=row.text("translation"),
                references=(row.text("reference"),),
                human={"HUMAN_score": row.number("HUMAN_score")},
                released={"sentBLEU": row.number("sentBLEU")},
            )
    notes = quote_notes(quoted, "sources", unquote=unquote)
    return build.table("wmt17-testset", default_criterion="HUMAN_score", notes=notes)
