"""Options in messages, as the command line and the service spell them."""

from __future__ import annotations

import pytest

from nlgauge.apps.wording import in_fields, in_flags


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("choose one of 0 to 6 with layer=", "choose one of 0 to 6 with --layer"),
        ("layer='x' belongs to wmd", "--layer x belongs to wmd"),
        ("set idf=PATH", "set --idf PATH"),
        ("in 'bertscore:layer=4,idf=refs'", "in 'bertscore:layer=4,idf=refs'"),
        ("signature 'bertscore|layer:4'", "signature 'bertscore|layer:4'"),
        ("lang must be a language", "--lang must be a language"),
        ("src_lang must be a language", "src_lang must be a language"),
        ("score it 0 (unknown='zero')", "score it 0 (-m NAME:unknown=zero)"),
        ("and pass rescale=FILE", "and pass rescale=FILE"),
        ("with idf=True", "with --idf"),
        ("with other=True", "with other=True"),
    ],
)
def test_keywords_become_flags_outside_of_recipes(message: str, shown: str) -> None:
    assert in_flags(message, ["layer", "idf", "lang"]) == shown


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("score it 0 (empty='zero')", "score it 0 ('empty': 'zero')"),
        ("score it 0 (unknown='zero')", "score it 0 ('options': {'unknown': 'zero'})"),
        ("use model='muse', which", "use 'options': {'model': 'muse'}, which"),
        ("a model trained on the language (model=)", "a model trained on the language ('model' in 'options')"),
        ("add references (refs=) or sources (sources=)", "add references ('refs') or sources ('sources')"),
        ("in 'bertscore:layer=4,empty=zero'", "in 'bertscore:layer=4,empty=zero'"),
        ("did you mean 'bleu'? See 'nlgauge list'", "did you mean 'bleu'? See GET /v1/metrics"),
        ("see 'nlgauge show ds-focus'", "see GET /v1/metrics"),
        ("'nlgauge models list' shows the names", "GET /v1/models shows the names"),
        ("unknown keyword 'tok' for bleu", "unknown field in 'options': 'tok' for bleu"),
        ("leave out empty=True", "leave out 'empty': true"),
    ],
)
def test_keywords_become_fields_of_a_request(message: str, shown: str) -> None:
    assert in_fields(message, ["refs", "sources", "empty", "options"]) == shown


@pytest.mark.parametrize(("fields", "shown"), [(["ref", "source"], "'ref' or 'source'"), ([], "refs= or sources=")])
def test_names_of_texts_are_those_of_the_request(fields: list[str], shown: str) -> None:
    assert in_fields("refs= or sources=", fields) == shown


def test_names_of_texts_are_those_of_the_command() -> None:
    assert in_flags("refs= or sources=", ["ref_text", "source_text"]) == "--ref-text or --source-text"


def test_an_alternative_without_its_option_is_left_out() -> None:
    message = "rename it, or add input_format='tsv' (or 'csv', 'jsonl')"
    assert in_flags(message, ["metric"]) == "rename it"
    assert in_flags(message, ["input_format"]).endswith("or add --input-format tsv (or 'csv', 'jsonl')")
    assert in_flags(message, []) == message
