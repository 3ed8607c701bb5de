"""Word alignments: mutual nearest neighbours and the files of word aligners."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgauge.errors import FileFormatError, InputError
from nlgauge.studies.alignment.word_aligner import parse_links, read_alignments, write_alignments
from nlgauge.studies.alignment.word_spaces import AlignmentInputs, mutual_nearest

seeds = st.integers(0, 2**32 - 1)


def test_only_words_that_choose_each_other_are_linked() -> None:
    """By hand: target 0 is the nearest of both source words, and itself prefers source 0."""
    source = [[1.0, 0.0], [1.0, 0.5]]
    target = [[1.0, 0.1], [-1.0, 0.0]]
    assert mutual_nearest(source, target) == ((0, 0),)


def test_far_words_and_nothing_to_link() -> None:
    assert mutual_nearest([[1.0, 0.0]], [[0.0, 1.0]]) == ((0, 0),)
    assert mutual_nearest(np.empty((0, 2)), [[0.0, 1.0]]) == ()
    with pytest.raises(InputError, match="the same width, got 2 and 3"):
        mutual_nearest([[1.0, 0.0]], [[0.0, 1.0, 0.0]])


@given(seeds, st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_a_planted_permutation_is_found_and_sides_can_be_exchanged(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 40))
    order = rng.permutation(count)
    scaled = rng.uniform(0.1, 9, size=(count, 1)) * x  # length does not count
    z = scaled[order]
    links = mutual_nearest(x, z)
    assert links == tuple((int(i), int(np.flatnonzero(order == i)[0])) for i in range(count))
    other = mutual_nearest(rng.normal(size=(7, 40)), z)
    assert sorted((j, i) for i, j in mutual_nearest(z, x)) == sorted(links)
    assert len({i for i, _ in other}) == len({j for _, j in other}) == len(other)


def test_files_of_word_aligners(tmp_path: Path) -> None:
    path = tmp_path / "fast.align"
    path.write_text("0-0 1-2 2-1\n\n0p3 1-0\r\n", encoding="utf-8")
    links = [((0, 0), (1, 2), (2, 1)), (), ((0, 3), (1, 0))]
    assert read_alignments(path) == links
    write_alignments(path, links)
    assert path.read_text(encoding="utf-8") == "0-0 1-2 2-1\n\n0-3 1-0\n"
    assert read_alignments(path) == links


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    encoder: Any = None  # links are checked before anything is encoded
    inputs = AlignmentInputs(encoder, ["one", "one two three"], ["eins", "drei"], 0, alignments_name="a.align")
    with pytest.raises(FileFormatError, match=r"line 3: expected links such as 0-0 1-2, got '1:2'"):
        parse_links("0-0 1:2", where="line 3")
    with pytest.raises(FileFormatError, match="line 2: link 3-0, but the texts have 3 and 1 words"):
        replace(inputs, alignments=[((0, 0),), ((3, 0),)]).check_links()
    with pytest.raises(InputError, match=r"a\.align has 1 lines, but there are 2 pairs"):
        replace(inputs, alignments=[()]).check_links()
    with pytest.raises(FileFormatError, match="cannot read word alignments"):
        read_alignments(tmp_path / "none")
