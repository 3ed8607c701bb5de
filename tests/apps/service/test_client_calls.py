"""Every call of the client beside the same call of the library: one signature, one type, the same bits."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.apps.service.conftest import listening

import nlgauge
from nlgauge.apps.service.client import AsyncClient, Client
from nlgauge.apps.service.settings import Limits, Settings
from nlgauge.errors import InputError, RecipeError, ServiceError
from nlgauge.studies.compare.until_certain import compare_until_certain
from nlgauge.studies.sensitivity.measure import StudyOptions, run_study, systems_table
from nlgauge.studies.sensitivity.study import preset
from nlgauge.studies.stress.suite import stress
from nlgauge.testing import hash_encoder

HYPS = ["a cat sat on the mat .", "the dog slept under a tree .", "the cat slept"]
REFS = ["the cat sat on a mat .", "a dog slept .", "a cat slept ."]
SYSTEMS = {"one": HYPS, "two": [*REFS[:2], "the dog sat"]}
CANDIDATES = [["a cat sat", "the cat sat", "the mat"], ["a tree"], ["a dog", "a dog", "the dog slept"]]
HASH = {"model": "hash", "layer": 1}

#: Functions of the library that a client does not have, because they compute nothing with a model.
HERE = {
    "explain_factors": "works on a data set with human scores, and reads files of parses and vectors",
    "join_documents": "joins texts",
    "load_scores": "reads a file",
    "recipe_from_signature": "reads a signature",
    "release_models": "frees the memory of this process",
    "save_scores": "writes a file",
    "signature_form": "sets the form of printed signatures",
    "write_report": "writes a file",
}

#: Calls, by what is called: positional arguments and options.
CALLS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "score": ("score", (HYPS, REFS), HASH),
    "score-alignments": ("score", (HYPS, REFS), {"model": "hash", "alignments": True, "metric": "moverscore"}),
    "score_systems": ("score_systems", (SYSTEMS, [[ref, "a"] for ref in REFS]), {"metric": ["chrf", "bleu"]}),
    "matrix": ("matrix", (HYPS, REFS[:2]), HASH),
    "matrix-itself": ("matrix", (HYPS,), {"metric": "moverscore", "model": "hash"}),
    "matrix-texts": ("matrix", (HYPS, REFS), {"metric": "chrf"}),
    "matrix-learned": ("matrix", (HYPS, REFS), {"metric": "learned"}),
    "rank": ("rank", (CANDIDATES,), HASH),
    "rank-refs": ("rank", (CANDIDATES, [["a cat sat .", "the cat"], "the tree", "the dog"]), HASH),
    "rank-distance": ("rank", (CANDIDATES, REFS), {"metric": "chrf"}),
    "explain_pair": ("explain_pair", (HYPS[0], REFS[0]), {**HASH, "leave_one_out": True}),
    "explain_pair-windows": ("explain_pair", (HYPS[0], REFS[0]), {**HASH, "long": "windows", "pieces": "first"}),
    "explain_pairs": ("explain_pairs", (HYPS, REFS), {**HASH, "idf": "refs", "beside": True}),
    "explain_pairs-shapley": ("explain_pairs", (HYPS[:1], [REFS[:2]]), {"metric": "chrf", "shapley": True}),
}


def plain(result: Any) -> Any:
    """A result as plain values, and its type."""
    if isinstance(result, list):
        return [plain(item) for item in result]
    return type(result).__name__, json.loads(json.dumps(result.to_dict()))


def asked(address: str, name: str, *args: Any, **options: Any) -> list[Any]:
    """What both clients answer."""

    async def awaited() -> Any:
        async with AsyncClient(address) as client:
            return await getattr(client, name)(*args, **options)

    with Client(address) as client:
        return [getattr(client, name)(*args, **options), asyncio.run(awaited())]


def test_a_client_has_every_function_of_the_library_that_computes() -> None:
    functions = {name for name in nlgauge.__all__ if inspect.isfunction(getattr(nlgauge, name))}
    assert set(HERE) <= functions
    for name in functions - set(HERE):
        expected = inspect.signature(getattr(nlgauge, name)).parameters
        for client in (Client("http://x"), AsyncClient("http://x")):
            result = inspect.signature(getattr(client, name)).parameters.values()
            shape = [(item.name, item.kind, item.default) for item in result]
            assert shape == [(item.name, item.kind, item.default) for item in expected.values()], name


@pytest.mark.parametrize(("name", "args", "options"), CALLS.values(), ids=CALLS)
def test_results_are_those_of_the_library(
    address: str, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    expected = plain(getattr(nlgauge, name)(*args, **options))
    for result in asked(address, name, *args, **options):
        assert plain(result) == expected


def test_matrices_and_rankings_are_usable_as_they_are(address: str) -> None:
    with Client(address) as client:
        result = client.matrix(HYPS, REFS, **HASH)
        ranking = client.rank(CANDIDATES, **HASH)
    expected = nlgauge.matrix(HYPS, REFS, **HASH)
    assert np.array_equal(np.asarray(result), np.asarray(expected))
    assert np.array_equal(result.precision, expected.precision)
    assert not result.scores.flags.writeable
    library = nlgauge.rank(CANDIDATES, **HASH)
    assert ranking.chosen == library.chosen
    assert ranking.candidates == library.candidates
    assert np.isnan(ranking.utilities[1][0])


def test_systems_are_compared_from_scores(address: str) -> None:
    scores = nlgauge.score_systems(SYSTEMS, REFS, metric=["chrf"])
    expected = plain(nlgauge.compare_systems(scores, permutations=200, seed=3))
    for result in asked(address, "compare_systems", scores, permutations=200, seed=3):
        assert plain(result) == expected


def test_a_comparison_until_certain_is_that_of_the_library(address: str) -> None:
    options = {"metric": ["chrf", "bertscore:model=hash,layer=1"], "margin": 5.0, "first_look": 2, "seed": 3}
    expected = plain(compare_until_certain(SYSTEMS, REFS, **options))
    for result in asked(address, "compare_until_certain", SYSTEMS, REFS, **options):
        assert plain(result) == expected
        assert result.rule.seed == 3


def test_a_stress_test_is_scored_by_the_service(address: str) -> None:
    expected = plain(stress(HYPS, metric=["chrf"], perturbations=["negation", "typo"], resamples=100))
    for result in asked(address, "stress", HYPS, None, "chrf", perturbations=["negation", "typo"], resamples=100):
        assert plain(result) == expected


def test_a_study_is_that_of_the_library(address: str) -> None:
    metrics = ["bertscore:idf=refs,model=hash,layer=1"]
    study = run_study(preset("idf", metrics), systems_table(SYSTEMS, REFS), options=StudyOptions(resamples=100))
    for result in asked(address, "sensitivity", SYSTEMS, REFS, metric=metrics, preset="idf", resamples=100):
        assert plain(result) == plain(study)


@pytest.mark.data
def test_documents_and_words_are_annotated_by_the_service(address: str, data_folder: Any) -> None:
    for name, args, options in (
        ("discourse", (SYSTEMS, REFS), {"sentences": "lines"}),
        ("discourse", (HYPS,), {}),
        ("explain_corpus", (HYPS, REFS), {**HASH, "resamples": 100}),
        ("explain_corpus", (HYPS, REFS), {"metric": "chrf", "method": "leave-one-out", "resamples": 100}),
    ):
        expected = getattr(nlgauge, name)(*args, **options)
        for result in asked(address, name, *args, **options):
            assert type(result) is type(expected)
            assert result.to_dict() == expected.to_dict()


def refused(call: Callable[[], Any], kind: type[Exception]) -> str:
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


def test_client_raises_the_errors_of_the_library(address: str) -> None:
    with Client(address, retries=0) as client:
        for name, args, options in (
            ("matrix", ([],), {}),
            ("matrix", (["a"], "a text"), {}),
            ("rank", ([["a"], []],), {}),
            ("rank", ([["a"]], ["a", "b"]), {}),
            ("explain_pairs", (["a"], ["a", "b"]), {}),
            ("matrix", (["a"],), {"metric": "sentsim"}),
            ("matrix", (["a"],), {"metric": "bertscorr"}),
            ("discourse", ([],), {}),
        ):
            expected = refused(lambda: getattr(nlgauge, name)(*args, **options), nlgauge.errors.NlgaugeError)  # noqa: B023
            expected = expected.replace("'nlgauge list'", "GET /v1/metrics")
            assert refused(lambda: getattr(client, name)(*args, **options), nlgauge.errors.NlgaugeError) == expected  # noqa: B023
        assert "reads no files" in refused(lambda: client.discourse(HYPS, vectors="v.txt"), RecipeError)
        assert "annotator must be spacy-en" in refused(lambda: client.discourse(HYPS, annotator="/etc"), RecipeError)
        assert "cannot send an option" in refused(lambda: client.matrix(HYPS, idf={1, 2}), RecipeError)
        assert "expected" in refused(lambda: client.matrix(3), InputError)  # type: ignore[arg-type]


def test_large_calls_become_jobs(tmp_path: Any) -> None:
    limits = Limits(texts=5, pairs=4, seconds=1e-9)
    with hash_encoder(), listening(Settings(folder=tmp_path, preload=(), limits=limits)) as address:
        for name, args in (("matrix", (HYPS, REFS)), ("matrix", (HYPS[:1], REFS[:1])), ("rank", (CANDIDATES,))):
            expected = plain(getattr(nlgauge, name)(*args, **HASH))
            for result in asked(address, name, *args, **HASH):
                assert plain(result) == expected
        with Client(address) as client:
            job = client.submit("matrix", HYPS, REFS, **HASH)
            assert job.wait().shape == (3, 3)
            assert job.download("tsv").startswith(b"hypothesis\t0\t1\t2\n0\t")
            ranking = client.submit("rank", CANDIDATES, **HASH)
            assert client.job(ranking.id).wait().chosen == nlgauge.rank(CANDIDATES, **HASH).chosen


def test_jobs_above_a_limit_are_refused(tmp_path: Any) -> None:
    limits = Limits(pairs=4, job_pairs=8)
    with (
        hash_encoder(),
        listening(Settings(folder=tmp_path, preload=(), limits=limits)) as address,
        Client(address) as client,
    ):
        message = refused(lambda: client.matrix(HYPS, REFS, **HASH), ServiceError)
    assert "too many pairs of texts (9; limit 8)" in message
