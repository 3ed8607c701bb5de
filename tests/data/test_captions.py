"""Captions and compressions: loaders on data in the layout of the releases, and the published tables on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import nlgauge
from nlgauge.data import load
from nlgauge.errors import FileFormatError, InputError
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import reproduce

REFERENCES = {
    1: [
        "A man rides a brown horse.",
        "A person is riding a horse on a beach .\n",
        "man on a horse",
        "horse",
        "a ride",
    ],
    2: ["Two dogs play in the snow.", "dogs playing outside", "two dogs", "snow and dogs", "Dogs run in snow."],
    3: ["A plate of food.", "food on a plate", "a white plate", "dinner", "A meal on a table."],
}
CAPTIONS = {
    "karpathy": ["a man riding a horse", "two dogs in the snow", "a plate of food"],
    "OriolVinyals": ["a man on a horse", "a dog plays", "a plate"],
    "other-team": ["a horse", "snow", "a table"],
    "not-listed": ["x", "y", "z"],
}


def write_captions(folder: Path) -> None:
    annotations = [{"image_id": image, "caption": text} for image, texts in REFERENCES.items() for text in texts]
    (folder / "annotations").mkdir()
    content = {"info": {}, "images": [], "annotations": annotations[::-1]}
    (folder / "annotations/captions_val2014.json").write_text(json.dumps(content), encoding="utf-8")
    for system, texts in CAPTIONS.items():
        entries = [{"image_id": image, "caption": text} for image, text in enumerate(texts, start=1)]
        (folder / system).mkdir()
        name = f"captions_val2014_{system}_results.json"
        (folder / system / name).write_text(json.dumps(entries[::-1]), encoding="utf-8")
    lines = [
        ",,M1,M2,M3,M4,M5,date",
        ",NeuralTalk,0.166,0.192,3.43,2.75,0.147,2015-04-16",
        ",Google,0.273,0.317,4.107,2.742,0.233,2015-05-29",
        ",Other-Team,0.1,0.2,3,2,.1,2015",
        ",Human,0.638,0.675,4.836,3.428,0.352,2015-03-23",
    ]
    (folder / "leaderboard.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def coco(tmp_path: Path) -> Path:
    write_captions(tmp_path)
    return tmp_path


def test_coco_joins_captions_references_and_scores_of_systems(coco: Path) -> None:
    table = load("coco-captions", coco)
    assert table.systems == ("OriolVinyals", "karpathy", "other-team")
    assert table.segment == ("1", "2", "3") * 3
    row = table.where(system="karpathy").take([0])
    assert row.hypothesis == ("a man riding a horse",)
    assert sorted(row.references[0]) == sorted(text.strip() for text in REFERENCES[1])
    assert table.criteria == ("M1", "M2", "M3", "M4", "M5")
    assert table.system_scores["en"] == {"OriolVinyals": 0.273, "karpathy": 0.166, "other-team": 0.1}
    assert table.where(system="karpathy").gold("M2").tolist() == [0.192] * 3
    assert "not-listed is not on the leaderboard and is left out" in table.notes
    with pytest.raises(InputError, match="scores of systems only"):
        table.gold()
    assert len(load("coco-captions", coco, images=2)) == 6


def test_coco_names_what_is_wrong(coco: Path) -> None:
    file = coco / "karpathy/captions_val2014_karpathy_results.json"
    file.write_text(json.dumps([{"image_id": 9, "caption": "a"}]), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"karpathy_results\.json, item 0.*an image of captions_val2014\.json"):
        load("coco-captions", coco)
    (coco / "leaderboard.csv").write_text("team,M1\nNeuralTalk,1\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"leaderboard\.csv, line 1: expected columns M1 and M2"):
        load("coco-captions", coco)


def test_coco_names_an_image_without_a_number(coco: Path) -> None:
    file = coco / "karpathy/captions_val2014_karpathy_results.json"
    file.write_text('[{"image_id": "first", "caption": "a horse"}]', encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"image_id.*a whole number from 0 to 999999999999.*first"):
        load("coco-captions", coco)


def test_tables_of_captions_are_computed_on_the_owners_data(coco: Path) -> None:
    """By hand: the Pearson correlation of three systems, and the rules for several references."""
    result = reproduce(PAPER_TABLES["bertscore-table29"], at=coco, model="none")
    cells = {row.name: row.cells for row in result.rows}
    table = load("coco-captions", coco)
    systems = {name: table.where(system=name) for name in table.systems}
    scores = [nlgauge.score(part.hypothesis, part.references, "chrf:words=2") for part in systems.values()]
    expected = correlation([score.system_score for score in scores], [0.273, 0.166, 0.1])
    assert cells["CHRF++"]["M1"].ours == pytest.approx(expected)
    assert cells["CHRF++"]["M2"].published == 0.729
    assert cells["SPICE"]["M1"].ours is None


def correlation(x: Sequence[float], y: Sequence[float]) -> float:
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    product = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    squares = [sum((value - mean) ** 2 for value in side) for side, mean in ((x, mean_x), (y, mean_y))]
    return product / (squares[0] * squares[1]) ** 0.5


def write_flickr(folder: Path) -> None:
    lines = [f"10_ab.jpg#{i}\t{text.strip()}" for i, text in enumerate(REFERENCES[1])]
    lines += [f"20_cd.jpg#{i}\t{text}" for i, text in enumerate(REFERENCES[2])]
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_flickr8k_has_means_of_experts_and_leaves_references_out(tmp_path: Path) -> None:
    write_flickr(tmp_path)
    judged = "10_ab.jpg\t20_cd.jpg#2\t1\t1\t2\n10_ab.jpg\t10_ab.jpg#0\t4\t4\t4\n20_cd.jpg\t10_ab.jpg#3\t1\t2\t1\n"
    (tmp_path / "ExpertAnnotations.txt").write_text(judged, encoding="utf-8")
    (tmp_path / "CrowdFlowerAnnotations.txt").write_text("10_ab.jpg\t20_cd.jpg#2\t0.25\t1\t3\n", encoding="utf-8")
    table = load("flickr8k", tmp_path)
    assert table.hypothesis == ("two dogs", "horse")
    assert [len(group) for group in table.references] == [5, 5]
    assert table.gold().tolist() == pytest.approx([4 / 3, 4 / 3])
    assert table.human["expert3"].tolist() == [2.0, 1.0]
    assert table.notes == (
        "1 captions that are references of their image are left out (keep_references=True keeps them)",
    )
    kept = load("flickr8k", tmp_path, keep_references=True)
    assert (len(kept), len(kept.references[1])) == (3, 4), "a caption is not its own reference"
    assert load("flickr8k", tmp_path, judges="crowd").gold().tolist() == [0.25]


def test_composite_reads_captions_and_scores_after_the_address(coco: Path) -> None:
    write_flickr(coco)
    head = ";".join(f'"field {i}"' for i in range(6))
    lines = [
        'a;b;"Input.image_url";rest',
        f'{head};"http://x.org/8k/10_ab.jpg";"a horse";"man on a horse";"a; cat";4;5;1;;',
        "sums;1;2;3",
    ]
    (coco / "8k_correctness.csv").write_text("\n".join(lines), encoding="utf-8")
    address = "http://x.org/coco/COCO_val2014_000000000003.jpg"
    (coco / "coco_correctness.csv").write_text(f"{head};{address};a;b;c;dinner;1;2;3;4\n", encoding="utf-8")
    table = load("composite", coco, sets=["8k", "coco"])
    assert table.hypothesis == ("a horse", "a; cat", "a", "b", "c")
    assert table.gold().tolist() == [4.0, 1.0, 1.0, 2.0, 3.0]
    assert [len(group) for group in table.references] == [5] * 5
    assert table.topics == ("8k 10_ab", "coco COCO_val2014_000000000003")
    kept = load("composite", coco, sets=["coco"], keep_references=True)
    assert (kept.hypothesis[-1], len(kept.references[-1])) == ("dinner", 4)
    (coco / "results_20130124.token").write_text("1.jpg#0\ta\n", encoding="utf-8")
    with pytest.raises(InputError, match="30k_correctness"):
        load("composite", coco)


def write_compressions(folder: Path) -> None:
    rating = "{}\tsome meaning\tsome grammar"
    people = [
        "15\tnews\tThe old cat sat on the mat.",
        "The cat sat.\t7\t1\t" + rating.format(6),
        "A cat sat.\t8|9\t0",
    ]
    other = ["101_102\tletters\tDear all. Rain fell.", "Rain fell.\t7\t1\t" + rating.format(7)]
    (folder / "test.tsv").write_text(" ||| ".join(people) + "\n" + " ||| ".join(other) + "\n", encoding="utf-8")
    outputs = {
        "test_output.t3.tsv": ["cat sat on mat", "2", [12, 21]],
        "test_outut.ilp.tsv": ["The cat sat on the mat", "2", [6, 7]],
    }
    for name, (text, count, codes) in outputs.items():
        ratings = "\t".join(rating.format(code) for code in codes)
        lines = [
            f"{people[0]} ||| {text}\t{name}\t{count}\t{ratings}",
            f"{other[0]} ||| Rain.\tx\t1\t{rating.format(24)}",
        ]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_compressions_have_means_of_ratings(tmp_path: Path) -> None:
    """By hand: code 12 is 2 and 2, 21 is 1 and 3, 6 is 3 and 3, 7 is 3 and 2, 24 is 1 and 1."""
    (tmp_path / "RawData").mkdir()
    write_compressions(tmp_path / "RawData")
    table = load("msr-compression", tmp_path)
    assert table.systems == ("t3", "ilp")
    assert table.hypothesis == ("cat sat on mat", "Rain.", "The cat sat on the mat", "Rain.")
    assert table.references[0] == ("The cat sat.", "A cat sat.")
    assert table.human["meaning"].tolist() == [1.5, 1.0, 3.0, 1.0]
    assert table.human["grammar"].tolist() == [2.5, 1.0, 2.5, 1.0]
    assert table.gold().tolist() == [2.0, 1.0, 2.75, 1.0]
    result = reproduce(PAPER_TABLES["bertscore-table10"], at=tmp_path, model="none")
    cells = {row.name: row.cells for row in result.rows}
    texts = list(table.hypothesis), list(table.references)
    scores = {"BLEU": nlgauge.score(*texts, "bleu"), "SARI": nlgauge.score(*texts, "sari", sources=table.source)}
    for row, score in scores.items():
        expected = correlation(score.segments[score.main], [1.5, 1.0, 3.0, 1.0])
        assert cells[row]["meaning"].ours == pytest.approx(expected)


def test_unknown_codes_of_ratings_are_refused(tmp_path: Path) -> None:
    write_compressions(tmp_path)
    file = tmp_path / "test_output.t3.tsv"
    file.write_text(file.read_text(encoding="utf-8").replace("\t12\t", "\t13\t"), encoding="utf-8")
    with pytest.raises(
        FileFormatError, match=r"t3\.tsv, line 1, column 'ratings': expected 2 ratings with the codes 6"
    ):
        load("msr-compression", tmp_path)
