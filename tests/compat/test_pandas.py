"""Scores of a frame's columns."""

from __future__ import annotations

import numpy as np
import pytest

import nlgauge

pd = pytest.importorskip("pandas")
import nlgauge.compat.pandas  # noqa: E402  # after the check that pandas is here

FRAME = pd.DataFrame(
    {
        "mt": ["The cat sat on the mat.", "Rain in the north.", "Nobody knew."],
        "ref": ["A cat sat upon a mat.", "The north expects rain.", "No one knew the answer."],
        "other": ["The cat lay there.", "It will rain.", "Who?"],
    },
    index=["x", "y", "z"],
)


def test_rows_keep_their_index_and_the_result_its_signature() -> None:
    found = FRAME.nlgauge.score(hyp="mt", ref="ref", metric="bertscore:layer=4")
    expected = nlgauge.score(FRAME["mt"].tolist(), FRAME["ref"].tolist(), layer=4)
    assert list(found.index) == ["x", "y", "z"]
    np.testing.assert_array_equal(found["f1"].to_numpy(), expected.f1)
    assert found.attrs["signature"] == str(expected.signature)
    assert found.attrs["system_score"] == expected.system_score
    assert list(FRAME.join(found).columns) == ["mt", "ref", "other", "precision", "recall", "f1"]


def test_several_columns_are_several_references() -> None:
    found = FRAME.nlgauge.score(hyp="mt", ref=["ref", "other"], metric="chrf")
    groups = FRAME[["ref", "other"]].to_numpy().tolist()
    expected = nlgauge.score(FRAME["mt"].tolist(), groups, metric="chrf")
    np.testing.assert_array_equal(found["chrf"].to_numpy(), expected.segments["chrf"])


def test_an_unknown_column_and_a_missing_text_are_named() -> None:
    with pytest.raises(nlgauge.InputError, match=r"no column 'reff'.*did you mean 'ref'"):
        FRAME.nlgauge.score(hyp="mt", ref="reff")
    holes = FRAME.assign(ref=["a", None, "b"])
    with pytest.raises(nlgauge.InputError, match="column 'ref', row 'y'"):
        holes.nlgauge.score(hyp="mt", ref="ref")
    twice = pd.concat([FRAME, FRAME[["ref"]]], axis=1)
    with pytest.raises(nlgauge.InputError, match="2 columns called 'ref'; rename"):
        twice.nlgauge.score(hyp="mt", ref="ref")
    with pytest.raises(nlgauge.InputError, match="nothing to score"):
        FRAME.iloc[:0].nlgauge.score(hyp="mt", ref="ref", metric="chrf")
    with pytest.raises(nlgauge.InputError, match="no column 3; it has mt, ref, other"):
        FRAME.nlgauge.score(hyp=3, ref="ref")
