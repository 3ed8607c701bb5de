"""Commands with frozen output: every kind of report in every format, help, catalogues and errors."""

from __future__ import annotations

from collections.abc import Sequence

#: Formats of tables, and of commands with fewer formats.
ALL = ("text", "tsv", "markdown", "latex", "json")
FEW = ("text", "markdown", "json")


def in_formats(command: str, formats: Sequence[str] = ALL) -> list[str]:
    """Repeat a command in each format."""
    return [f"nlgauge {command} --format {name}" for name in formats]


_TWO = "a.txt b.txt --refs ref.txt"
_THREE = "a.txt b.txt c.txt --refs ref.txt"
_META = "--data custom --at judged.tsv --set system=system segment=segment document=document source=source"

METRICS = (
    "baryscore", "bertscore", "bleu", "chrf", "discoscore", "ds-focus", "ds-sent", "entity-graph", "learned",
    "focus-frequency", "lc", "lexical-chain", "lexical-graph", "moverscore", "rc", "rouge1", "rouge2", "rougel",
    "sentsim", "smd", "xmoverscore",
)  # fmt: skip

#: Commands without a model or with little computation, by file.
QUICK: dict[str, list[str]] = {
    "metrics": [
        *in_formats("list", FEW),
        *(f"nlgauge show {name}" for name in METRICS),
        "nlgauge show bertscore --format json",
        "nlgauge show bertscor",
    ],
    "models": ["nlgauge models list", "nlgauge models path minilm", "nlgauge models path smollm2"],
    "data": [
        *in_formats("data list", FEW),
        "nlgauge data info wmt17",
        "nlgauge data info mqm-ted --format json",
        "nlgauge data info custom",
        "nlgauge data info wmt71",
        *in_formats("data check judged.tsv --name custom", FEW),
        "nlgauge data check .",
        "nlgauge data check wmt17",
    ],
    "signature": [
        "nlgauge signature show 'bertscore|layer:4|idf:none|multiref:best-f|rescale:no|refs:1|model:minilm"
        "|weights:53aa51172d14|tokenizer:be50c3628f2b|config:f90758c9ccb5|maxlen:512|engine:onnxruntime-1.31.1-fp32"
        "|nlgauge:0.2.0|sig:1||truncated:0|empty:0'",
        "nlgauge signature show 'roberta-large_L17_no-idf_version=0.3.12(hug_trans=4.37.2)'",
        "nlgauge signature show 'nonsense'",
        "nlgauge signature diff 'bertscore|layer:4|idf:none' 'bertscore|layer:6|idf:none'",
        "nlgauge signature diff 'bertscore|layer:4|nlgauge:0.2.0' 'bertscore|layer:4|nlgauge:0.2.1'",
    ],
    "completion": ["nlgauge completion bash", "nlgauge completion zsh"],
    "normalise": [
        "nlgauge normalise parsed.conllu --rules contractions adjectives objects punctuation --lang it",
        "nlgauge normalise parsed.conllu --rules contractions -o text.txt",
        "cat text.txt",
        "nlgauge normalise b.txt --rules punctuation",
        "nlgauge normalise b.txt --rules adjectives",
    ],
    "citation": ["nlgauge score --citation", "nlgauge score --citation --metric moverscore xmoverscore bleu ds-sent"],
    "mistakes": [
        "nlgauge",
        "nlgauge --version",
        "nlgauge scor",
        "nlgauge meta --data wmt17",
        "nlgauge study",
        "nlgauge score",
        "nlgauge score a.txt",
        "nlgauge score missing.txt --refs ref.txt",
        "nlgauge score a.txt --refs references.txt",
        "nlgauge score a.txt --refs ref.txt --metric bertscor",
        "nlgauge score a.txt --refs ref.txt --metric bertscore:layers=4",
        "nlgauge score a.txt --refs ref.txt --layer many",
        "nlgauge score a.txt --refs ref.txt --layer 99",
        "nlgauge score a.txt --refs ref.txt --format xml",
        "nlgauge score a.txt --refs ref.txt --model no-such-model",
        "nlgauge score a.txt --refs ref.txt --metric sentsim",
        "nlgauge score out.tsv --refs ref.txt",
        "nlgauge score out.tsv:trans --refs ref.txt",
        "nlgauge score a.txt --refs ref.txt --metric 'bertscore|layer:4|nlgauge'",
        "nlgauge score a.txt --refs ref.txt --engine torch",
        "nlgauge score a.txt --refs ref.txt --decimals 40",
        "nlgauge compare a.txt --refs ref.txt",
        "nlgauge compare a.txt a.txt --refs ref.txt",
        "nlgauge compare a.txt b.txt --refs ref.txt --table pairs",
        "nlgauge rank a.txt",
        "nlgauge explain pair --hyp-text x",
        "nlgauge explain corpus a.txt",
        "nlgauge study stress --metric chrf",
        "nlgauge study meta --data wmt17",
        "nlgauge study meta --data wmt17 --at nowhere",
        "nlgauge study meta --data custom --at ref.txt",
        "nlgauge study meta --data custom --at judged.tsv --set human=adequacy --metric chrf",
        "nlgauge study tune-layer --data wmt99",
        "nlgauge study sensitivity a.txt b.txt --refs ref.txt --preset everything",
        "nlgauge study sensitivity a.txt b.txt --refs ref.txt",
        "nlgauge study reproduce no-such-table",
        "nlgauge study reproduce list --model minilm",
        "nlgauge study reproduce bt-table1 --model minilm",
        "nlgauge build norms --output norms.json",
        "nlgauge align fit --output map.npz",
        "nlgauge build baseline --corpus missing.txt",
        "nlgauge serve --port many",
        "nlgauge serve --host 0.0.0.0",
        "nlgauge completion fish",
    ],
    "lexical": [
        *in_formats(f"score {_TWO} --metric bleu chrf rougel"),
        *in_formats(f"compare {_THREE} --metric chrf"),
        "nlgauge score gap.txt --refs ref.txt --metric chrf bleu --segments",
    ],
}  # fmt: skip

#: Commands that encode texts, by file.
REPORTS: dict[str, list[str]] = {
    "score": [
        *in_formats(f"score {_TWO} --metric bertscore moverscore"),
        *in_formats(f"score {_TWO} --metric bertscore moverscore --segments", ("text", "tsv", "markdown", "json")),
        *in_formats(f"score {_TWO} --confidence"),
        *in_formats(f"score {_TWO} --confidence --document-ids docs.txt --metric chrf", ("text", "json")),
        f"nlgauge score {_TWO} --signature full --decimals 6",
        f"nlgauge score {_TWO} r2.txt --metric bertscore:multiref=mean bleu",
        "nlgauge score a.txt --refs ref.txt --segments --alignments --format json -o alignments.json",
        "cat alignments.json",
        "nlgauge score gap.txt --refs ref.txt",
        "nlgauge score long.txt --refs ref.txt",
        "nlgauge score long.txt --refs ref.txt --long windows",
        "nlgauge score long.txt --refs ref.txt --long error",
        "nlgauge score gap.txt --refs gap.txt",
        "nlgauge score gap.txt --refs gap.txt --empty zero",
        "nlgauge score system.en --source source.de --metric sentsim xmoverscore --segments",
        "nlgauge score a.txt --refs ref.txt -o run.json",
        "nlgauge score a.txt --refs ref.txt --idf refs --metric bertscore:lowercase=yes,max_tokens=8 --quiet",
        "nlgauge score a.txt --refs ref.txt --metric 'bertscore|layer:4|idf:none|multiref:best-f|rescale:no|refs:1"
        "|model:minilm|weights:53aa51172d14|tokenizer:be50c3628f2b|config:f90758c9ccb5|maxlen:512'",
        "nlgauge score a.txt --refs ref.txt --metric 'bertscore|layer:4|idf:none|multiref:best-f|rescale:no|refs:1"
        "|model:minilm|weights:000000000000'",
    ],
    "compare": [
        *in_formats(f"compare {_THREE} --metric bertscore chrf"),
        *(f"nlgauge compare {_THREE} --format tsv --table {name}" for name in ("pairs", "wins", "disagreements")),
        f"nlgauge compare {_THREE} --ratings --ranking bt --test wilcoxon --budget budget.tsv",
        f"nlgauge compare {_THREE} --document-ids docs.txt --metric chrf",
        *in_formats("compare base.txt new.txt --refs ref.txt --gate"),
        "nlgauge compare new.txt base.txt --refs ref.txt --gate",
        "nlgauge score a.txt b.txt --refs ref.txt --metric bertscore chrf -o saved.json",
        "nlgauge compare saved.json --scores comet.tsv",
        *in_formats("compare --scores verdicts.csv", ("text", "json")),
        f"nlgauge compare {_THREE} --metric bertscore chrf --report report.html --title 'Three systems' "
        "-o summary.txt",
        "text report.html",
    ],
    "rank": [
        *in_formats("rank sample1.txt sample2.txt sample3.txt", ("text", "tsv", "markdown", "json")),
        "nlgauge rank samples.jsonl:candidates --metric chrf",
        "nlgauge rank a.txt b.txt --refs ref.txt --format tsv",
        "nlgauge rank a.txt b.txt --source source.de --metric xmoverscore:unit=sentence --format tsv",
    ],
    "explain-pair": [
        *in_formats("explain pair --hyp-text 'A cat sat on the mat.' --ref-text 'The cat was sitting.'", FEW),
        *in_formats(
            "explain pair --hyp-text 'A cat sat.' --ref-text 'The dog ran.' 'The cat was sitting.' "
            "--metric moverscore --side-by-side",
            FEW,
        ),
        "nlgauge explain pair --hyp-text 'A cat sat.' --ref-text 'The cat was sitting.' --shapley --leave-one-out",
        "nlgauge explain pair --hyp-text 'A cat.' --source-text 'Eine Katze.' "
        "--metric bertscore:against=source,model=muse",
    ],
    "explain-corpus": in_formats("explain corpus a.txt --refs ref.txt --metric bertscore"),
    "explain-evaluate": in_formats("explain evaluate --gold gold.txt --scores word-scores.txt"),
    "explain-factors": in_formats(
        "explain factors --table factors.tsv --metric-column metric --factor adequacy length"
    ),
    "discourse": [
        *in_formats("study discourse summaries.txt jumps.txt --refs references.txt"),
        "nlgauge study discourse summaries.txt --refs references.txt --segments --vectors vectors.txt",
        "nlgauge score summaries.txt jumps.txt --refs references.txt --metric discoscore ds-focus "
        "entity-graph --segments",
    ],
    "stress": [
        *in_formats("study stress system.txt --metric bertscore chrf"),
        "nlgauge study stress a.txt --paraphrases r.txt --triples nouns --annotator spacy-en --metric chrf "
        "--save-triples triples.tsv",
        "cat triples.tsv",
    ],
    "meta": [
        *in_formats(f"study meta {_META} --metric bertscore chrf"),
        f"nlgauge study meta {_META} --metric bertscore chrf --level system --test none",
        f"nlgauge study meta {_META} --metric chrf bleu --agreement kendall spearman --test permutation",
        f"nlgauge study meta {_META} --metric chrf bleu --agreement acc-eq --level topic --test none",
    ],
    "tune-layer": in_formats(f"study tune-layer {_META}"),
    "sensitivity": [
        *in_formats(f"study sensitivity {_TWO} --study study.toml"),
        f"nlgauge study sensitivity {_TWO} --preset punctuation --metric moverscore",
        f"nlgauge study sensitivity --preset idf {_META} --metric bertscore",
    ],
    "learned": [
        f"nlgauge score {_THREE} --metric learned --segments",
        *in_formats(f"study learn {_META} --members bertscore chrf bleu --unproven -o mine.json"),
        f"nlgauge score {_THREE} --metric mine.json",
    ],
    "tables": [
        "nlgauge build idf corpus.txt -o corpus.idf",
        "cat corpus.idf",
        "nlgauge score a.txt --refs ref.txt --idf corpus.idf",
    ],
    "large-tables": [
        "nlgauge score --table judged.tsv --columns hyp=hypothesis,ref=reference --metric chrf "
        "--shard-rows 10 --parts parts --quiet",
        "nlgauge score --merge parts",
        "nlgauge score --merge parts --format json",
    ],
    "settings": [
        "NLGAUGE_CONFIG=mine.toml nlgauge score a.txt --refs ref.txt",
        "NLGAUGE_CONFIG=mine.toml nlgauge score a.txt --refs ref.txt --metric rouge1",
        "NLGAUGE_CONFIG=study.toml nlgauge score a.txt --refs ref.txt",
        "nlgauge score a.txt --refs ref.txt --metric bertscore:layer=2 --layer 4",
    ],
    "bounds": [
        "nlgauge build bounds a.txt b.txt --source source.de -o bounds.json",
        "cat bounds.json",
        "nlgauge score a.txt --source source.de --metric sentsim:combine=all,bounds=bounds.json",
    ],
    "baseline": [
        "nlgauge build baseline --corpus sentences.txt --pairs 200 --note 'example sentences'",
        "cat en.minilm.tsv",
        "nlgauge score a.txt --refs ref.txt --metric bertscore:rescale=en.minilm.tsv",
    ],
    "align": [
        "nlgauge build means --texts de=source.de en=ref.txt -o means.npz",
        "nlgauge align fit --parallel source.de ref.txt --source-lang de --target-lang en -o map.npz",
        "nlgauge align fit --parallel source.de ref.txt --method umd --source-lang de --target-lang en -o map.npz",
        "nlgauge align centroids --texts de=source.de en=ref.txt --transforms map.npz",
        "nlgauge align evaluate --parallel source.de ref.txt --maps map.npz",
        "nlgauge score a.txt --source source.de --metric xmoverscore:transforms=map.npz,src_lang=de",
    ],
}

#: Masks of digests of computed numbers. Digests of texts and models are kept.
MASKS = {
    r'("digest": ")[0-9a-f]{64}"': r'\1DIGEST"',
    r"(?m)^(# digest: )[0-9a-f]{64}$": r"\1DIGEST",
    r"(?m)^((?:bounds of|\S+: (?:norms|baseline|centre|clp|umd)) .*, )[0-9a-f]{12}(?=$|:)": r"\1DIGEST",
    r"\bfile\[[0-9a-f]+\]": "file[DIGEST]",
    r"\|range:[0-9a-f]{12}": "|range:DIGEST",
    r"(\|transforms:[\w-]+)\[[0-9a-f]{12}\]": r"\1[DIGEST]",
}

#: Groups without such digests: that of an idf file is of whole numbers.
UNMASKED = frozenset({"tables"})
