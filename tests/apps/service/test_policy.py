"""A request opens no file that it names, and fetches nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from nlgauge.apps.service import policy as policies
from nlgauge.apps.service.policy import Policy
from nlgauge.core.registry import METRICS
from nlgauge.core.resources import LanguageModelName, Resource, SentenceModelName
from nlgauge.errors import ModelNotFoundError, RecipeError
from nlgauge.io.store import fetch
from nlgauge.io.store.catalog import CARDS

opened: list[str] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if opened is not None and event in {"open", "os.listdir", "os.scandir", "socket.connect", "subprocess.Popen"}:
        opened.append(f"{event} {arguments!r}")


sys.addaudithook(_watch)  # cannot be taken back, and does nothing where nobody looks


@pytest.fixture
def watched() -> Iterator[list[str]]:
    """What the process opens or connects to."""
    global opened
    opened = []
    yield opened
    opened = None


TEXTS = {"hyps": ["a cat"], "refs": ["a dog"], "sources": ["a bird"]}

#: All options that name a file or a model, of all metrics.
NAMING = [
    (metric.name, name)
    for metric in METRICS.values()
    for name, about in metric.options().items()
    if name == "model" or isinstance(about.kind, Resource)
]


def test_some_options_name_files() -> None:
    assert {"idf", "model", "rescale", "stopwords", "transforms", "sentence", "bounds", "lm"} <= {
        n for _, n in NAMING
    }


@pytest.mark.parametrize("given", ["SECRET", "./SECRET", "../SECRET", "/etc/passwd", "http://127.0.0.1:1/x", "~/x"])
def test_no_option_opens_a_file_named_in_a_request(
    service: TestClient, watched: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SECRET").write_text("sesame")
    watched.clear()
    for metric, name in NAMING:
        for body in (
            {"metric": [metric], "options": {name: given}},
            {"metric": [f"{metric}:{name}={given}"]},
            {"metric": [f"{metric}|{name}:{given}|refs:1"]},
        ):
            answer = service.post("/v1/score", json=TEXTS | body)
            assert answer.status_code == 422, (metric, name, answer.text)
            assert "sesame" not in answer.text
    word = given.rpartition("/")[2] if "SECRET" in given else given
    assert not [line for line in watched if word in line]
    assert not [line for line in watched if line.startswith(("socket.connect", "subprocess"))]


@pytest.mark.parametrize(
    "name", ["iso-../x", "nltk-../../etc/passwd", "spacy-en.tokenizer", "iso-", "iso-EN/..", "x-en"]
)
def test_names_of_stop_word_lists_are_plain(name: str) -> None:
    with pytest.raises(RecipeError, match="stopwords must be"):
        Policy().check(METRICS["bertscore"](stopwords=name))


def test_file_named_like_a_stop_word_list_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = METRICS["bertscore"](stopwords="iso-en")
    Policy().check(recipe)
    (tmp_path / "iso-en").write_text("the")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError, match="the service reads no files"):
        Policy().check(recipe)


def test_tokenizers_that_sacrebleu_would_fetch_are_refused() -> None:
    Policy().check(METRICS["bleu"](tokenize="intl"))
    with pytest.raises(RecipeError, match="tokenize must be"):
        Policy().check(METRICS["bleu"](tokenize="flores200"))


@pytest.mark.parametrize(
    "given",
    [
        {"metric": ["chrf:chars=21"]},
        {"metric": ["chrf"], "options": {"words": 10**6}},
        {"metric": ["moverscore"], "options": {"exponents": "+".join(["1"] * 21)}},
    ],
)
def test_options_that_need_memory_have_limits(service: TestClient, given: dict[str, Any]) -> None:
    answer = service.post("/v1/score", json=TEXTS | given)
    assert answer.status_code == 422
    assert "must be at most 20" in answer.json()["detail"]


def test_a_language_does_not_fetch_its_model() -> None:
    with pytest.raises(ModelNotFoundError, match="does not offer model 'bert-base-chinese'"):
        Policy().check(METRICS["bertscore"](lang="zh"))


def test_only_offered_and_installed_models_are_accepted(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    Policy(["muse"]).check_model("muse")  # installed with its package
    with pytest.raises(ModelNotFoundError, match="it offers: muse"):
        Policy(["muse"]).check_model("minilm")
    policies._is_installed.cache_clear()
    monkeypatch.setattr(fetch, "fetch_card", pytest.fail)
    with pytest.raises(ModelNotFoundError, match="is not installed on the server"):
        Policy().check_model("minilm")
    policies._is_installed.cache_clear()
    with pytest.raises(RecipeError, match="unknown model 'bert'"):
        Policy(["bert"])


def test_additional_models_of_a_metric_are_checked() -> None:
    kinds = (SentenceModelName, LanguageModelName)
    further = [(m, n) for m in METRICS.values() for n, a in m.options().items() if isinstance(a.kind, kinds)]
    assert further
    for metric, name in further:
        with pytest.raises((ModelNotFoundError, RecipeError)):
            Policy().check(metric(**{name: "owner/model"}))


def test_all_known_models_are_listed_with_their_state() -> None:
    assert {model["name"] for model in Policy().models()} == set(CARDS)
    assert [model["available"] for model in Policy(["muse"]).models() if model["name"] == "minilm"] == [False]


def test_unavailable_metrics_have_a_reason(service: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    result = {item["name"]: item for item in service.get("/v1/metrics").json()}
    assert (result["bertscore"]["available"], result["bertscore"]["reason"]) == (True, None)
    assert not result["lexical-graph"]["available"]
    assert result["lexical-graph"]["reason"] == "it needs a file (vectors)"
    without = Policy()
    monkeypatch.setattr(policies, "find_spec", lambda name: None)
    assert "nlgauge[spacy]" in (without.why_not(METRICS["entity-graph"]) or "")
    monkeypatch.setattr(policies, "is_installed", lambda card: False)
    assert without.why_not(METRICS["bertscore"]) == "it needs a model, and none is installed"
    assert "is not installed on the server" in (without.why_not(METRICS["entity-graph"]) or "")
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    assert without.why_not(METRICS["chrf"]) is not None
