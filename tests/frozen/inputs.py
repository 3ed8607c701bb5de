"""Input texts and tables of the frozen outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())

#: A third system, between the two of the examples.
SYSTEM_C = (
    "The ferry was cancelled for the storm.",
    "She has written letters to her grandmother since March.",
    "The committee will publish its report on the end of the week.",
    "Two of three witnesses could not identify the driver.",
    "The bakery on the corner sells the best bread of the town.",
    "Prices rose faster than wages since three years.",
    "He forgot his key and had to wait for an hour on stairs.",
    "The new bridge shortens the journey for twenty minutes.",
    "Nobody expected that the smaller team wins the end.",
    "Please switch off your telephone in front of the concert.",
    "The museum keeps the painting in a room with no windows.",
    "Farmers are worried that it does not rain since April.",
)

SOURCES = (
    "Die Fähre fiel wegen des Sturms aus.",
    "Sie schreibt ihrer Großmutter seit März Briefe.",
    "Der Ausschuss wird seinen Bericht Ende der Woche veröffentlichen.",
    "Zwei der drei Zeugen konnten den Fahrer nicht erkennen.",
    "Die Bäckerei an der Ecke verkauft das beste Roggenbrot der Stadt.",
    "Die Preise stiegen das dritte Jahr in Folge schneller als die Löhne.",
    "Er hatte den Schlüssel vergessen und musste eine Stunde auf der Treppe warten.",
    "Die neue Brücke wird die Fahrt um zwanzig Minuten verkürzen.",
    "Niemand hatte erwartet, dass die kleinere Mannschaft das Endspiel gewinnt.",
    "Bitte schalten Sie Ihr Telefon aus, bevor das Konzert beginnt.",
    "Das Museum bewahrt das Gemälde in einem Raum ohne Fenster auf.",
    "Die Bauern sorgen sich, weil es seit April nicht geregnet hat.",
)

#: Second references of three segments, as a file where the other lines repeat the first.
SECOND_REFERENCES = {
    0: "A storm stopped the ferry.",
    4: "The best rye bread in town is sold at the bakery on the corner.",
    9: "Turn your phones off before the concert, please.",
}

#: Human scores, of systems a, b and c.
HUMAN = {
    "a": (88, 100, 91, 90, 95, 93, 84, 92, 96, 94, 89, 87),
    "b": (31, 38, 62, 28, 55, 9, 40, 58, 12, 49, 24, 18),
    "c": (85, 90, 86, 97, 81, 60, 78, 74, 52, 66, 93, 77),
}

DOCUMENTS = (
    "The king built a castle. The castle stood on a hill. From the hill the king saw the river.",
    "A ferry left the harbour at noon. The storm reached the ferry soon. The captain turned back to the harbour.",
    "The museum bought a painting. Visitors love the painting. The museum is open on Sundays.",
    "A farmer planted wheat in April. The wheat needs rain. The farmer waits for rain in May.",
)
DOCUMENT_REFERENCES = (
    "The king had a castle built. The castle was on a hill above the river. The king watched the river from there.",
    "The ferry left the harbour at noon. A storm caught the ferry after an hour. The captain took the ferry back.",
    "The museum acquired a painting. The painting is loved by visitors. On Sundays the museum is open.",
    "In April the farmer planted wheat. Wheat needs rain, and the farmer hopes for rain. In May there was rain.",
)
JUMPING_DOCUMENTS = (
    "The king built something. Dogs bark at night. A river was seen.",
    "A ferry left. Bread costs three euros. He turned back.",
    "They bought it. Visitors love music. Sunday is a day.",
    "Wheat was planted. Cars need fuel. Somebody waits in May.",
)

PARSED = """\
1	La	_	DET	_	_	2	det	_	_
2	casa	_	NOUN	_	_	5	nsubj	_	_
3	bianca	_	ADJ	_	_	2	amod	_	_
4	è	_	AUX	_	_	5	cop	_	_
5	vuota	_	ADJ	_	_	0	root	_	SpaceAfter=No
6	.	_	PUNCT	_	_	5	punct	_	_

1	Il	_	DET	_	_	2	det	_	_
2	gatto	_	NOUN	_	_	0	root	_	_
3-4	del	_	_	_	_	_	_	_	_
3	di	_	ADP	_	_	5	case	_	_
4	il	_	DET	_	_	5	det	_	_
5	vicino	_	NOUN	_	_	2	nmod	_	SpaceAfter=No
6	!	_	PUNCT	_	_	2	punct	_	_

"""

VERDICTS = """\
id,first,second,winner
s1,base,new,new
s1,new,base,new
s2,base,new,tie
s2,new,base,first
s3,base,new,base
s3,new,base,base
s4,base,new,second
s5,base,new,new
s6,new,base,new
"""

STUDY = """\
name = "weights of words"
metric = ["moverscore", "bertscore"]

[[sweep]]
idf = ["none", "refs"]
"""

SETTINGS = 'model = "minilm"\nmetric = ["bertscore:idf=refs", "chrf"]\nthreads = 1\n'

#: Word vectors for entities of documents.
VECTORS = "cat 1 0\nferry 0.9 0.1\nrain 0 1\nwheat 0.1 0.9\nking 0.7 0.7\ncastle 0.6 0.8\n"


def examples() -> dict[str, list[str]]:
    """Systems a and b and the references of the repository's examples, plus system c."""
    names = {"a": "system-a", "b": "system-b", "ref": "reference"}
    texts = {key: (ROOT / "examples" / f"{name}.txt").read_text(encoding="utf-8") for key, name in names.items()}
    return {key: text.splitlines() for key, text in texts.items()} | {"c": list(SYSTEM_C)}


def write_inputs(folder: Path) -> None:
    """Write the input files of the commands."""
    texts = examples()
    second = [SECOND_REFERENCES.get(i, text) for i, text in enumerate(texts["ref"])]
    files: dict[str, Sequence[str]] = {
        **dict.fromkeys(("a.txt", "base.txt", "system-a.txt", "system.txt", "sample1.txt", "system.en"), texts["a"]),
        **dict.fromkeys(("b.txt", "new.txt", "system-b.txt", "sample2.txt"), texts["b"]),
        **dict.fromkeys(("c.txt", "sample3.txt"), texts["c"]),
        **dict.fromkeys(("ref.txt", "r.txt", "r1.txt", "reference.txt"), texts["ref"]),
        "r2.txt": second,
        "corpus.txt": [*texts["ref"], *texts["a"]],
        "sentences.txt": [*texts["ref"], *texts["b"], *texts["c"]],
        "source.de": SOURCES,
        "docs.txt": [f"d{i // 3}" for i in range(12)],
        "summaries.txt": DOCUMENTS,
        "jumps.txt": JUMPING_DOCUMENTS,
        "references.txt": DOCUMENT_REFERENCES,
        "gap.txt": ["", *texts["a"][1:]],
        "long.txt": [" ".join(texts["a"] * 5), *texts["a"][1:]],
        "gold.txt": ["0 0 1 0 1", "1 0 0", "0 1 0 0", "0 0"],
        "word-scores.txt": ["0.1 0.2 0.9 0.3 0.4", "0.7 0.2 0.1", "0.3 0.2 0.1 0.05", "0.5 0.25"],
    }
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    raw = {"parsed.conllu": PARSED, "verdicts.csv": VERDICTS, "study.toml": STUDY, "vectors.txt": VECTORS}
    raw["mine.toml"] = SETTINGS
    for name, text in raw.items():
        (folder / name).write_text(text, encoding="utf-8")
    _write_tables(folder, texts)


def _write_tables(folder: Path, texts: dict[str, list[str]]) -> None:
    _write_rows(folder / "out.tsv", ["translation", "reference"], zip(texts["a"], texts["ref"], strict=True))
    judged = [
        (f"s{i}", system, f"d{i // 3}", SOURCES[i], texts[system][i], texts["ref"][i], HUMAN[system][i])
        for system in HUMAN
        for i in range(12)
    ]
    header = ["segment", "system", "document", "source", "hypothesis", "reference", "score"]
    _write_rows(folder / "judged.tsv", header, judged)
    factors = [(row[0], row[1], row[6], len(row[4]), 50 + row[6] % 7 * 5) for row in judged]
    _write_rows(folder / "factors.tsv", ["id", "system", "adequacy", "length", "metric"], factors)
    comet = [(f"{system}.txt", i, (HUMAN[system][i] + i % 4) / 100) for system in ("a", "b") for i in range(12)]
    _write_rows(folder / "comet.tsv", ["system", "segment", "comet"], comet)
    pairs = zip(texts["a"], texts["c"], texts["b"], strict=True)
    (folder / "samples.jsonl").write_text(
        "".join(json.dumps({"candidates": candidates}) + "\n" for candidates in pairs), encoding="utf-8"
    )
    _write_rows(folder / "budget.tsv", ["system", "parameters"], [("a.txt", 700), ("b.txt", 60), ("c.txt", 220)])


def _write_rows(path: Path, header: Sequence[str], rows: object) -> None:
    lines = ["\t".join(header), *("\t".join(map(str, row)) for row in rows)]  # type: ignore[attr-defined]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
