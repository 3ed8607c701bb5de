"""Image captions with human judgements: the COCO challenge of 2015, Flickr8k and Composite.

COCO: captions of systems for the validation images, and scores of whole systems.

    captions_val2014.json               {"annotations": [{"image_id": 1, "caption": "..."}, ...], ...}: references
    SYSTEM/captions_val2014*_results.json   [{"image_id": 1, "caption": "..."}, ...]; or SYSTEM is the `*` of the name
    leaderboard.csv                     a line per system: its name, and its scores in columns M1 to M5

Every row of a system has the scores of its system, so agreement has a meaning for whole systems only (level
`system`). The leaderboard has names of teams, the folders those of accounts: `TEAMS` relates them.

Flickr8k: captions of other images, judged by three experts (1 to 4) or by a crowd (share of yes).

    Flickr8k.token.txt                  IMAGE#NUMBER, tab, caption: five per image, the references
    ExpertAnnotations.txt               IMAGE, caption (IMAGE#NUMBER), and three scores, with tabs
    CrowdFlowerAnnotations.txt          IMAGE, caption, share of yes, number of yes and of no, with tabs

Composite: captions of people and systems for images of Flickr8k, Flickr30k and COCO, judged from 1 to 5 by a crowd.

    {8k,30k,coco}_correctness.csv       fields separated by ";": after the address of the image (http...), its three
    {8k,30k,coco}_throughness.csv       (8k) or four captions and as many scores; lines without an address are sums
    Flickr8k.token.txt, results_20130124.token, captions_val2014.json       references

A caption that is one of the references of its image is left out, as in published evaluations since SPICE.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.data.loaders import FOLDER_ADVICE, TableBuilder, files_below, find_below
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.tables import Row, as_row, csv_records, read_bytes, read_tsv, whole_text

#: Teams of the leaderboard of 2015 by the account of their folder (lower case); other names are equal.
TEAMS: Mapping[str, str] = {
    "jeffdonahue": "Berkeley LRCN",
    "junhua.mao": "m-RNN (Baidu/ UCLA)",
    "karpathy": "NeuralTalk",
    "kelvin_xu": "Montreal/Toronto",
    "kolarmartin": "Brno University",
    "mrnn_share.jmao": "m-RNN",
    "myamaguchi": "MIL",
    "oriolvinyals": "Google",
    "q.wu": "ACVT",
    "rakshithshetty": "PicSOM",
    "ryank": "MLBL",
    "tsinghuabigeye": "Tsinghua Bigeye",
}

_REFERENCES = "captions_val2014.json"
_RESULTS = re.compile(r"captions_val2014_?(.*?)_?results\.json")
#: Largest number of an image; file names have twelve digits.
_LAST_IMAGE = 10**12 - 1
_MEASURES = ("M1", "M2", "M3", "M4", "M5")

_TOKENS = "Flickr8k.token.txt"
_JUDGES = {"experts": "ExpertAnnotations.txt", "crowd": "CrowdFlowerAnnotations.txt"}
_EXPERTS = ("expert1", "expert2", "expert3")

#: Sets of Composite by the start of a file's name: references, and captions per image.
_SETS = {"8k": (_TOKENS, 3), "30k": ("results_20130124.token", 4), "coco": (_REFERENCES, 4)}
_CRITERIA = {"correctness": "correctness", "thoroughness": "throughness"}

Captions = dict[str, tuple[str, ...]]


def load_coco_systems(path: Path, *, images: int = 0, langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """Load the captions of the systems, with M1 to M5 as scores of systems; `images` loads only the first images."""
    select_known(langpairs, ["en"], "COCO: language")
    references = _coco_references(_need(path, _REFERENCES))
    scores = _leaderboard(_need(path, "leaderboard.csv"))
    build, notes = TableBuilder(), []
    for file, account in _system_files(path):
        team = _team(account, scores)
        if team is None:
            notes.append(f"{account} is not on the leaderboard and is left out")
            continue
        rows = sorted(_coco_captions(file), key=_image_number)
        for row in rows[:images] if images else rows:
            image = str(_image_number(row))
            if image not in references:
                row.refuse("image_id", f"an image of {_REFERENCES}")
            build.add(
                row,
                segment=image,
                system=account,
                langpair="en",
                hypothesis=row.text("caption").strip(),
                references=references[image],
                human=scores[team],
            )
    if not len(build):
        msg = f"{path}: no system of the leaderboard has a file captions_val2014*_results.json"
        raise InputError(msg)
    if images:
        notes.append(f"the first {images} images of each system")
    table = build.table("coco-captions", default_criterion=None, notes=tuple(notes))
    # Without a criterion, agreement of systems is that with M1, and that of segments is refused.
    main = dict(zip(table.system, table.human["M1"].tolist(), strict=True))
    return replace(table, system_scores={"en": main})


def load_flickr8k(
    path: Path,
    *,
    judges: str = "experts",
    keep_references: bool = False,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """Load the judged pairs of image and caption; gold is the mean of the experts or the share of yes."""
    select_known(langpairs, ["en"], "Flickr8k: language")
    if judges not in _JUDGES:
        msg = f"judges must be {' or '.join(_JUDGES)}, got {judges!r}"
        raise RecipeError(msg)
    references, captions = _token_file(_need(path, _TOKENS))
    experts = judges == "experts"
    columns = ("image", "caption", *(_EXPERTS if experts else ("yes", "n_yes", "n_no")))
    build, left_out = TableBuilder(), 0
    for row in read_tsv(_need(path, _JUDGES[judges]), columns=columns):
        image, number = row.text("image"), row.text("caption")
        if number not in captions:
            row.refuse("caption", f"a caption of {_TOKENS}")
        others = references.get(image, ())
        if not others:
            row.refuse("image", f"an image of {_TOKENS}")
        if captions[number] in others:
            if not keep_references:
                left_out += 1
                continue
            others = tuple(text for text in others if text != captions[number])
        human = {name: row.number(name) for name in (_EXPERTS if experts else ("yes",))}
        if experts:
            human = {"expert": sum(human.values()) / len(human)} | human
        build.add(
            row,
            segment=f"{image} {number}",
            langpair="en",
            topic=image,
            hypothesis=captions[number],
            references=others,
            human=human,
        )
    return build.table("flickr8k", default_criterion="expert" if experts else "yes", notes=_dropped(left_out))


def load_composite(
    path: Path,
    *,
    criterion: str = "correctness",
    sets: str | Iterable[str] | None = None,
    keep_references: bool = False,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """Load the judgements of a criterion (`correctness` or `thoroughness`), of all sets or some (8k, 30k, coco)."""
    select_known(langpairs, ["en"], "Composite: language")
    if criterion not in _CRITERIA:
        msg = f"criterion must be {' or '.join(_CRITERIA)}, got {criterion!r}"
        raise RecipeError(msg)
    build, left_out = TableBuilder(), 0
    for name in select_known(sets, list(_SETS), "Composite: set"):
        file, count = _SETS[name]
        references = _composite_references(_need(path, file))
        for row, image, captions, scores in _composite_rows(_need(path, f"{name}_{_CRITERIA[criterion]}.csv"), count):
            others = references.get(image, ())
            if not others:
                row.refuse("image", f"an image of {file}")
            for number, (caption, score) in enumerate(zip(captions, scores, strict=True), start=1):
                rest = tuple(text for text in others if text != caption)
                if len(rest) < len(others) and not keep_references:
                    left_out += 1
                    continue
                build.add(
                    row,
                    segment=f"{name} {row.where} {image}#{number}",
                    langpair="en",
                    topic=f"{name} {image}",
                    hypothesis=caption,
                    references=rest,
                    human={criterion: score},
                )
    return build.table("composite", default_criterion=criterion, notes=_dropped(left_out))


def _need(path: Path, name: str) -> Path:
    file = find_below(path, name)
    if file is None:
        msg = f"{path}: no file {name!r} in or below this folder; {FOLDER_ADVICE}"
        raise InputError(msg)
    return file


def _dropped(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    return (f"{count} captions that are references of their image are left out (keep_references=True keeps them)",)


def _system_files(path: Path) -> Iterator[tuple[Path, str]]:
    """Result files with the names of their systems, in the order of the names."""
    files: dict[str, Path] = {}
    for file in files_below(path, "**/captions_val2014*results.json"):
        match = _RESULTS.fullmatch(file.name)
        inner = "" if match is None else match[1].strip("_")
        name = file.parent.name if file.parent != path or not inner else inner
        if name in files:
            msg = f"{path}: two result files of {name!r}, {files[name].name} and {file.name}; keep one"
            raise InputError(msg)
        files[name] = file
    yield from ((files[name], name) for name in sorted(files))


def _leaderboard(file: Path) -> dict[str, dict[str, float]]:
    """The scores M1 to M5 by team; the team is the first text of a line."""
    (_, header), *lines = csv_records(read_bytes(os.fspath(file)), os.fspath(file))
    columns = {name.strip(): place for place, name in enumerate(header)}
    measures = [name for name in _MEASURES if name in columns]
    if not {"M1", "M2"} <= set(measures):
        msg = f"{file}, line 1: expected columns M1 and M2 (and M3 to M5), got {header!r}"
        raise FileFormatError(msg)
    scores: dict[str, dict[str, float]] = {}
    for line, fields in lines:
        team = next((field.strip() for field in fields if field.strip()), "")
        if not team:
            continue
        row = Row(os.fspath(file), f"line {line}", dict(zip(header, fields, strict=False)))
        if team in scores:
            msg = f"{row.location()}: duplicate of {team!r}; a system has one line"
            raise FileFormatError(msg)
        scores[team] = {name: row.number(header[columns[name]]) for name in measures}
    return scores


def _team(account: str, scores: Mapping[str, object]) -> str | None:
    """The team of the leaderboard with this name or account; None if there is none."""
    names = {name.casefold(): name for name in scores}
    return names.get(TEAMS.get(account.casefold(), account).casefold()) or names.get(account.casefold())


def _coco_references(file: Path) -> Captions:
    """The captions of each image."""
    name = os.fspath(file)
    content = _read_json(file)
    annotations = content.get("annotations") if isinstance(content, dict) else None
    if not isinstance(annotations, list):
        msg = f"{name}: expected an object with a list 'annotations'"
        raise FileFormatError(msg)
    captions: dict[str, list[str]] = {}
    for index, item in enumerate(annotations):
        row = as_row(item, name, f"'annotations'[{index}]")
        captions.setdefault(str(_image_number(row)), []).append(row.text("caption").strip())
    return {image: tuple(texts) for image, texts in captions.items()}


def _coco_captions(file: Path) -> list[Row]:
    """The captions of a system, one per image."""
    content = _read_json(file)
    if not isinstance(content, list):
        msg = f"{file}: expected a list of captions"
        raise FileFormatError(msg)
    return [as_row(item, os.fspath(file), f"item {index}") for index, item in enumerate(content)]


def _image_number(row: Row) -> int:
    return row.integer("image_id", low=0, high=_LAST_IMAGE)


def _read_json(file: Path) -> object:
    name = os.fspath(file)
    try:
        content: object = json.loads(whole_text(read_bytes(name), name))
    except ValueError as error:
        msg = f"{name}: not JSON ({error}); download it again"
        raise FileFormatError(msg) from error
    return content


def _token_file(file: Path) -> tuple[Captions, dict[str, str]]:
    """Captions by image, and by the number of the caption (IMAGE#0)."""
    captions: dict[str, str] = {}
    images: dict[str, list[str]] = {}
    for row in read_tsv(file, columns=("number", "caption")):
        number = row.text("number")
        captions[number] = row.text("caption").strip()
        images.setdefault(number.rpartition("#")[0], []).append(captions[number])
    return {image: tuple(texts) for image, texts in images.items()}, captions


def _composite_references(file: Path) -> Captions:
    """References by the name of the image without its ending: a number for Flickr, COCO_val2014_... for COCO."""
    if file.name == _REFERENCES:
        return {f"COCO_val2014_{int(image):012}": texts for image, texts in _coco_references(file).items()}
    return {image.partition(".")[0]: texts for image, texts in _token_file(file)[0].items()}


def _composite_rows(file: Path, count: int) -> Iterator[tuple[Row, str, Sequence[str], list[float]]]:
    """Image, captions and scores of each line that has the address of an image."""
    name = os.fspath(file)
    for line, fields in csv_records(read_bytes(name), name, separator=";"):
        start = next((place for place, field in enumerate(fields) if field.strip().startswith("http")), None)
        if start is None:
            continue
        image, captions, scores = (
            fields[start].strip().rpartition("/")[2].partition(".")[0],
            [text.strip() for text in fields[start + 1 : start + 1 + count]],
            fields[start + 1 + count : start + 1 + 2 * count],
        )
        row = Row(name, f"line {line}", {"image": image} | {f"score {i}": text for i, text in enumerate(scores, 1)})
        if len(scores) < count:
            msg = f"{row.location()}: expected {count} captions and {count} scores after the address of the image"
            raise FileFormatError(msg)
        yield row, image, captions, [row.number(f"score {i}") for i in range(1, count + 1)]
