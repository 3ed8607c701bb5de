"""Scores of a frame's columns."""

from __future__ import annotations

import numpy as np
import pytest

import nlgauge

pd = pytest.importorskip("pandas")
import nlgauge.apps.compat.pandas  # noqa: E402  # after the check that pandas is here

FRAME = pd.DataFrame(
    {
        "mt": ["The cat sat on the mat.", "Rain in the north.", "Nobody knew."],
        "ref": ["A cat sat upon a mat.", "The north expects rain.", "No one knew the answer."],
        "other": ["The cat lay there.", "It will rain.", "Who?"],
    },
    index=["x", "y", "z"],
)


def test_rows_keep_their_index_and_the_result_its_signature() -> None:
    result = FRAME.nlgauge.score(hyp="mt", ref="ref", metric="bertscore:layer=4")
    expected = nlgauge.score(FRAME["mt"].tolist(), FRAME["ref"].tolist(), layer=4)
    assert list(result.index) == ["x", "y", "z"]
    np.testing.assert_array_equal(result["f1"].to_numpy(), expected.f1)
    assert result.attrs["signature"] == str(expected.signature)
    assert result.attrs["system_score"] == expected.system_score
    assert list(FRAME.join(result).columns) == ["mt", "ref", "other", "precision", "recall", "f1"]


def test_several_columns_are_several_references() -> None:
    result = FRAME.nlgauge.score(hyp="mt", ref=["ref", "other"], metric="chrf")
    groups = FRAME[["ref", "other"]].to_numpy().tolist()
    expected = nlgauge.score(FRAME["mt"].tolist(), groups, metric="chrf")
    np.testing.assert_array_equal(result["chrf"].to_numpy(), expected.segments["chrf"])


def test_errors_name_an_unknown_column_and_a_missing_text() -> None:
    with pytest.raises(nlgauge.errors.InputError, match=r"no column 'reff'.*did you mean 'ref'"):
        FRAME.nlgauge.score(hyp="mt", ref="reff")
    holes = FRAME.assign(ref=["a", None, "b"])
    with pytest.raises(nlgauge.errors.InputError, match="column 'ref', row 'y'"):
        holes.nlgauge.score(hyp="mt", ref="ref")
    twice = pd.concat([FRAME, FRAME[["ref"]]], axis=1)
    with pytest.raises(nlgauge.errors.InputError, match="2 columns called 'ref'; rename"):
        twice.nlgauge.score(hyp="mt", ref="ref")
    with pytest.raises(nlgauge.errors.InputError, match="nothing to score"):
        FRAME.iloc[:0].nlgauge.score(hyp="mt", ref="ref", metric="chrf")
    with pytest.raises(nlgauge.errors.InputError, match="no column 3; its columns are mt, ref, other"):
        FRAME.nlgauge.score(hyp=3, ref="ref")
    with pytest.raises(
        nlgauge.errors.InputError, match=r"column 'mt', row 'x': expected a text, got 1; convert it with astype"
    ):
        FRAME.assign(mt=[1, 2, 3]).nlgauge.score(hyp="mt", ref="ref")


def test_cells_may_hold_lists_of_references() -> None:
    groups = [["A cat sat.", "The cat lay there."], ["It will rain."], ("Who?", "Nobody.", "No one knew.")]
    lists = FRAME.assign(refs=groups)
    expected = nlgauge.score(FRAME["mt"].tolist(), groups, metric="chrf")
    result = lists.nlgauge.score(hyp="mt", ref="refs", metric="chrf")
    np.testing.assert_array_equal(result["chrf"].to_numpy(), expected.segments["chrf"])
    assert result.attrs["signature"] == str(expected.signature)
    both = lists.nlgauge.score(hyp="mt", ref=["ref", "refs"], metric="chrf")
    joined = [[first, *more] for first, more in zip(FRAME["ref"], groups, strict=True)]
    expected = nlgauge.score(FRAME["mt"].tolist(), joined, metric="chrf")
    np.testing.assert_array_equal(both["chrf"].to_numpy(), expected.segments["chrf"])
    with pytest.raises(nlgauge.errors.InputError, match="column 'refs', row 'y': the list is empty"):
        lists.assign(refs=[["a"], [], ["b"]]).nlgauge.score(hyp="mt", ref="refs")
    with pytest.raises(nlgauge.errors.InputError, match=r"column 'refs', row 'x': expected a text, got \['A cat"):
        lists.nlgauge.score(hyp="refs", ref="ref")


def test_names_of_columns_need_not_be_texts() -> None:
    numbered = pd.DataFrame({0: ["A cat sat."], 1: ["The cat sat."]})
    levels = pd.DataFrame(
        [["A cat sat.", "The cat sat."]], columns=pd.MultiIndex.from_product([["t"], ["mt", "ref"]])
    )
    expected = nlgauge.score(["A cat sat."], ["The cat sat."], metric="chrf").system_score
    assert numbered.nlgauge.score(hyp=0, ref=1, metric="chrf").attrs["system_score"] == expected
    named = levels.nlgauge.score(hyp=("t", "mt"), ref=("t", "ref"), metric="chrf")
    assert named.attrs["system_score"] == expected
    with pytest.raises(
        nlgauge.errors.InputError, match=r"2 columns called 't'; name one of them, such as \('t', 'mt'\)"
    ):
        levels.nlgauge.score(hyp="t", ref=("t", "ref"))


def test_texts_instead_of_columns_are_errors() -> None:
    with pytest.raises(nlgauge.errors.InputError, match="refs= takes texts; name a column of the frame with ref="):
        FRAME.nlgauge.score(hyp="mt", refs=FRAME["ref"])


def test_a_column_of_sources_replaces_references() -> None:
    result = FRAME.nlgauge.score(hyp="mt", source="ref", metric="xmoverscore:unit=sentence")
    expected = nlgauge.score(FRAME["mt"].tolist(), sources=FRAME["ref"].tolist(), metric="xmoverscore:unit=sentence")
    np.testing.assert_array_equal(result["score"].to_numpy(), expected.score)
