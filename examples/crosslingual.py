"""Effect of re-mapping and normalisation on reference-free metrics: Pearson with human judgements, with intervals.

    python examples/crosslingual.py --at DATA --work FOLDER > table.md

DATA contains wmt17, wmt17/testset (the same judgements, texts lower-cased and tokenised), mlqe-pe and wmt18. All
steps are fitted to the first 2,000 sources and references of wmt18, never to test data, with `nlgauge align fit` and
`nlgauge build means`, which write to FOLDER.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from nlgauge.apps.cli import main as nlgauge
from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.stats.correlation import bootstrap_correlations
from nlgauge.studies.meta.score_judgements import score_judgements

#: Data set, language pair, and the WMT18 pair for fitting.
TESTED = (
    ("wmt17", "de-en", "deen"),
    ("wmt17", "ru-en", "ruen"),
    ("wmt17", "tr-en", "tren"),
    ("wmt17", "zh-en", "zhen"),
    ("wmt17-testset", "de-en", "deen"),
    ("wmt17-testset", "ru-en", "ruen"),
    ("wmt17-testset", "tr-en", "tren"),
    ("wmt17-testset", "zh-en", "zhen"),
    ("mlqe-pe", "en-de", "ende"),
    ("mlqe-pe", "en-zh", "enzh"),
    ("mlqe-pe", "ru-en", "ruen"),
)

#: Metrics by name: recipe and reported component.
METRICS = {
    "SSS": ("xmoverscore:unit=sentence", ""),
    "WMD": ("sentsim:combine=wmd", "wmd"),
    "BERTScore": ("bertscore:against=source", ""),
    "SentSim(SSS+WMD)": ("sentsim:combine=sss+wmd", ""),
    "SentSim(SSS+BERTScore)": ("sentsim:combine=sss+bertscore", ""),
    "XMoverScore-1": ("xmoverscore:n=1", ""),
    "XMoverScore-2": ("xmoverscore:n=2", ""),
    "XMoverScore head": ("xmoverscore:profile=head", ""),
}

#: Steps of token vectors; sentence vectors have separate maps and no means.
STEPS = ("clp", "umd", "clp-umd", "centre", "standardise")


def fit(data: Path, work: Path, langpair: str, files: str) -> tuple[dict[str, str], dict[str, str]]:
    """Fit the steps, and return their files for token vectors and for sentence vectors."""
    source, target = langpair.split("-")
    texts = [data / "wmt18" / "source" / f"newstest2018-{files}-src.{source}"]
    texts.append(data / "wmt18" / "references" / f"newstest2018-{files}-ref.{target}")
    words, sentences = {}, {}
    for method in ("clp", "umd", "clp-umd"):
        for level, files_of_level in (("word", words), ("sentence", sentences)):
            path = work / f"{files}-{level}-{method}.npz"
            files_of_level[method] = str(path)
            if not path.exists():
                run("align", "fit", "--parallel", *texts, "--method", method, "--level", level, "-o", path)
    for mode in ("centre", "standardise"):
        path = work / f"{files}-{mode}.npz"
        words[mode] = str(path)
        if not path.exists():
            named_texts = [f"{language}={file}" for language, file in zip((source, target), texts, strict=True)]
            run("build", "means", "--texts", *named_texts, "--mode", mode, "-o", path)
    return words, sentences


def run(*words: object) -> None:
    """Run a command of nlgauge."""
    if nlgauge([str(word) for word in words]):
        sys.exit(1)


def scores(
    table: JudgementTable, langpair: str, steps: str, names: list[str], lm: str = "none"
) -> dict[str, np.ndarray]:
    """Score all rows with all metrics, higher is better; `lm` is for XMoverScore only."""
    source, target = langpair.split("-")
    recipes = [METRICS[name][0] + (f",lm={lm}" if lm != "none" else "") for name in names]
    scored = score_judgements(table, recipes, src_lang=source, lang=target, transforms=steps, model="muse")
    result = {}
    for name, rows in zip(names, scored.metrics, strict=True):
        chosen = rows.component(METRICS[name][1]) if METRICS[name][1] else rows
        result[name] = chosen.values if chosen.higher_is_better else -chosen.values
    return result


def main() -> None:
    """Write the table, and the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for fitted files and results")
    parser.add_argument(
        "--lm",
        default="none",
        help="language model of the fluency term for English outputs, such as smollm2 (default: none)",
    )
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    records = []
    for data, langpair, files in TESTED:
        path = args.work / f"{data}-{langpair}-{Path(args.lm).name}.json"  # an interrupted run continues
        if not path.exists():
            words, sentences = fit(args.at, args.work, langpair, files)
            table = load(
                data, args.at, langpairs=[langpair], **({"unquote": True} if data == "wmt17-testset" else {})
            )
            path.write_text(json.dumps(compare(table, langpair, words, sentences, args.lm), indent=1))
        records += json.loads(path.read_text())
        print(f"{data} {langpair}: done", file=sys.stderr)
    print(render(records))


def compare(
    table: JudgementTable, langpair: str, words: dict[str, str], sentences: dict[str, str], lm: str
) -> list[dict[str, object]]:
    """Pearson with human judgements for each metric and step, and the change by the step with its 95 % interval."""
    plain = scores(table, langpair, "none", list(METRICS))
    lines = {(name, "plain"): values for name, values in plain.items()}
    for step in STEPS:
        for name, values in scores(table, langpair, words[step], [name for name in METRICS if name != "SSS"]).items():
            lines[name, step] = values
        if step in sentences:
            lines["SSS", step] = scores(table, langpair, sentences[step], ["SSS"])["SSS"]
    # The language model is English and needs texts with normal case and spacing.
    if lm != "none" and langpair.endswith("-en") and table.name != "wmt17-testset":
        for step, file in (("lm", "none"), ("clp + lm", words["clp"])):
            for name, values in scores(table, langpair, file, ["XMoverScore-1", "XMoverScore-2"], lm).items():
                lines[name, step] = values
    human = table.gold(None)
    records: list[dict[str, object]] = []
    for (name, step), values in lines.items():
        change = bootstrap_correlations([values, plain[name]], human).difference(0, 1)
        record = {"data": table.name, "langpair": langpair, "metric": name, "steps": step}
        numbers = {"r": float(np.corrcoef(values, human)[0, 1]), "change": change.value}
        records.append(record | numbers | {"low": change.low, "high": change.high})
    return records


def render(records: list[dict[str, object]]) -> str:
    """Format rows of metrics and steps; a change is bold if its interval excludes 0."""
    columns = list(dict.fromkeys((r["data"], r["langpair"]) for r in records))
    rows = list(dict.fromkeys((r["metric"], r["steps"]) for r in records))
    cells = {(r["metric"], r["steps"], r["data"], r["langpair"]): r for r in records}
    lines = ["| metric | steps | " + " | ".join(f"{data} {pair}" for data, pair in columns) + " |"]
    lines.append("|" + "---|" * (len(columns) + 2))
    for metric, steps in sorted(rows, key=lambda row: list(METRICS).index(str(row[0]))):
        records_of_row = [cells.get((metric, steps, *column)) for column in columns]
        texts = ["" if cell is None else _cell(cell, plain=steps == "plain") for cell in records_of_row]
        lines.append(f"| {metric} | {steps} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _cell(record: dict[str, object], *, plain: bool) -> str:
    r, change, low, high = (float(str(record[key])) for key in ("r", "change", "low", "high"))
    if plain:
        return f"{r:.3f}"
    text = f"{r:.3f} ({change:+.3f} [{low:+.3f}, {high:+.3f}])"
    return f"**{text}**" if low > 0 or high < 0 else text


if __name__ == "__main__":
    main()
