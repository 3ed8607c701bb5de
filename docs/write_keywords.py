"""Generate src/nlgauge/core/keywords.py, the keywords of `**options` of public functions, from the declared options.

python -m docs.write_keywords            write the file
python -m docs.write_keywords --check    exit with status 1 if it is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from docs.generated import write_or_check

from nlgauge.core.kinds import Choice, Flag, Float, Int, Kind, Many, NameList, NumberList, Pattern
from nlgauge.core.options import BY_PROFILE, PROFILE_WORD, Option, OptionSet
from nlgauge.core.pruning import PruneOptions
from nlgauge.core.registry import built_in_metrics
from nlgauge.core.run_options import RunOptions
from nlgauge.studies.compare.comparison import CompareSettings
from nlgauge.studies.compare.stopping import StopRule
from nlgauge.studies.discourse import DiscourseOptions
from nlgauge.studies.explain.corpus import CorpusOptions
from nlgauge.studies.explain.explanation import ExplainOptions
from nlgauge.studies.meta.between import BetweenOptions
from nlgauge.studies.meta.score_judgements import TuneOptions
from nlgauge.studies.sensitivity.measure import SensitivityOptions
from nlgauge.studies.stress.suite import StressOptions
from nlgauge.studies.stress.triples import DrawOptions

TARGET = Path(__file__).parents[1] / "src" / "nlgauge" / "core" / "keywords.py"

HEAD = '''\
"""Keywords of the public functions, for editors and type checkers; nothing here is needed to run.

Written by `python -m docs.write_keywords` from the options that metrics, runs and analyses declare. Do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Literal, TypedDict
'''


class Keywords(NamedTuple):
    """A class of the file: groups of options, without those that its functions name or do not accept."""

    name: str
    what: str
    groups: tuple[str, ...]
    without: frozenset[str] = frozenset()


CLASSES = (
    Keywords("RunKeywords", "Options of a run.", ("Run",)),
    Keywords("ScoreKeywords", "Options of `nlgauge.score`: those of all metrics, and of a run.", ("Metric", "Run")),
    Keywords("PairKeywords", "Options of `matrix`.", ("Metric", "Run"), frozenset({"alignments"})),
    Keywords("RankKeywords", "Options of `rank`.", ("Metric", "Run", "Prune"), frozenset({"alignments"})),
    Keywords(
        "TableKeywords", "Options of `cluster.score`.", ("Metric", "Run"), frozenset({"alignments", "progress"})
    ),
    Keywords("StressKeywords", "Options of `stress`.", ("Metric", "Run", "Stress"), frozenset({"annotator", "lang"})),
    Keywords("TripleKeywords", "Options of `score_triples`.", ("Metric", "Run", "Draw")),
    Keywords("BetweenKeywords", "Options of `relate_metrics`.", ("Between",)),
    Keywords("TuneKeywords", "Options of `tune_layer`.", ("Run", "Tune")),
    Keywords("SegmentKeywords", "Options of `Score.explain`.", ("Explanation",)),
    Keywords("ExplainKeywords", "Options of `explain_pair` and `explain_pairs`.", ("Metric", "Run", "Explanation")),
    Keywords(
        "SummaryKeywords",
        "Options of `explain_corpus`.",
        ("Metric", "Run", "Explanation", "Summary"),
        frozenset({"shapley", "leave_one_out"}),
    ),
    Keywords("DiscourseKeywords", "Options of `discourse`.", ("Discourse",)),
    Keywords("SensitivityKeywords", "Options of `sensitivity`.", ("Metric", "Run", "Study")),
    Keywords("CompareKeywords", "Settings of `compare_systems`.", ("Comparison",)),
    Keywords("UntilCertainKeywords", "Options of `compare_until_certain`.", ("Metric", "Run", "Stopping")),
    Keywords("CompareTextsKeywords", "Options of `compare`.", ("Metric", "Run", "Comparison")),
)


#: Longest type that fits on a line.
LONGEST = 90

#: Options of runs and analyses by group.
OPTION_SETS: dict[str, type[OptionSet]] = {
    "Between": BetweenOptions,
    "Run": RunOptions,
    "Prune": PruneOptions,
    "Explanation": ExplainOptions,
    "Summary": CorpusOptions,
    "Comparison": CompareSettings,
    "Stopping": StopRule,
    "Discourse": DiscourseOptions,
    "Study": SensitivityOptions,
    "Stress": StressOptions,
    "Draw": DrawOptions,
    "Tune": TuneOptions,
}


def option_groups() -> dict[str, dict[str, str]]:
    """Types of options by group and name; for options that differ between metrics, the union of their types."""
    declared: dict[str, list[Option]] = {}
    for metric in built_in_metrics().values():
        for name, option in metric.options().items():
            declared.setdefault(name, []).append(option)
    groups = {"Metric": {name: type_of(options) for name, options in sorted(declared.items())}}
    for group, options in OPTION_SETS.items():
        groups[group] = {name: type_of([option]) for name, option in options.options().items()}
    return groups


def type_of(options: Iterable[Option]) -> str:
    """Annotation for the values of all options with one name."""
    words: dict[str, None] = {}
    types: dict[str, None] = {}
    for option in options:
        words |= dict.fromkeys(option.kind.words) if isinstance(option.kind, Choice) else {}
        words |= {PROFILE_WORD: None} if option.default is BY_PROFILE else {}
        types |= dict.fromkeys(types_of(option.kind))
        if option.default is None:
            types["None"] = None
    choices = ", ".join(f'"{word}"' for word in words)
    literal = [f"Literal[{choices}]"] if words and "str" not in types else []
    return " | ".join([*literal, *sorted(types, key=lambda name: name == "None")])


def types_of(kind: Kind) -> list[str]:
    """Python types of a kind's values, without the words of a choice."""
    yes_or_no = ["bool"] if {"yes", "no"} <= set(getattr(kind, "words", ())) else []
    if isinstance(kind, Choice):
        return yes_or_no
    if isinstance(kind, Int):
        return ["int", *(["str"] if kind.word or kind.also else []), *(["None"] if kind.word else [])]
    if isinstance(kind, Float):
        return ["float"]
    if isinstance(kind, Flag):
        return ["bool"]
    if isinstance(kind, Many):
        inner = type_of([Option("", "", kind.kind, "")])
        return [f"Iterable[{inner}]" if len(inner) < LONGEST else "Iterable[str]"]
    if isinstance(kind, Pattern | NameList | NumberList):
        return ["str"]
    return [*yes_or_no, "str", "PathLike[str]"]


def file_text() -> str:
    """Generate the file; a class inherits from other classes whose fields it contains."""
    groups = option_groups()
    shared = {
        f"_{group}": {
            name: kind
            for name, kind in types.items()
            if all(name not in hidden(keywords, group, groups) for keywords in CLASSES if group in keywords.groups)
        }
        for group, types in groups.items()
    }
    whole = {
        keywords: {
            name: groups[group][name]
            for group in keywords.groups
            for name in groups[group]
            if name not in hidden(keywords, group, groups)
        }
        for keywords in CLASSES
    }
    classes, bases = dict(shared), {}
    for keywords, types in sorted(whole.items(), key=lambda item: len(item[1])):
        bases[keywords] = find_bases(types, classes)
        classes[keywords.name] = types
    used = [base for chosen in bases.values() for base in chosen]
    parts = [class_text(name, ["TypedDict"], types) for name, types in shared.items() if used.count(name) > 1]
    for keywords, candidates in bases.items():
        chosen = [base for base in candidates if base not in shared or used.count(base) > 1]
        covered = {name for base in chosen for name in classes[base]}
        own = {name: kind for name, kind in whole[keywords].items() if name not in covered}
        parts.append(class_text(keywords.name, chosen or ["TypedDict"], own, keywords.what))
    return "\n\n".join([HEAD, *parts])


def find_bases(types: Mapping[str, str], classes: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Choose disjoint classes whose fields a class contains, covering as many fields as possible."""
    fitting = {name: fields for name, fields in classes.items() if fields and fields.items() <= types.items()}
    largest = sorted(fitting, key=lambda name: -len(fitting[name]))
    choices: list[list[str]] = [[]]
    for first in largest:
        chosen = [first]
        for name in largest:
            if all(fitting[name].keys().isdisjoint(fitting[other]) for other in chosen):
                chosen.append(name)
        choices.append(chosen)
    return max(choices, key=lambda chosen: sum(len(fitting[name]) for name in chosen))


def hidden(keywords: Keywords, group: str, groups: Mapping[str, Mapping[str, str]]) -> set[str]:
    """Options of a group that a class excludes, or takes from a later group with the same name."""
    later = keywords.groups[keywords.groups.index(group) + 1 :]
    return set(keywords.without).union(*(groups[name] for name in later))


def class_text(name: str, bases: Sequence[str], types: Mapping[str, str], what: str = "") -> str:
    """Generate a TypedDict with one line per option."""
    lines = [f"class {name}({', '.join(bases)}, total=False):"]
    lines += [f'    """{what}"""'] if what else []
    lines += [""] if what and types else []
    return "\n".join([*lines, *(f"    {option}: {kind}" for option, kind in types.items()), ""])


def main(arguments: Sequence[str]) -> int:
    """Write or check the file."""
    return write_or_check(arguments, {TARGET: file_text()}, "python -m docs.write_keywords")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
