"""Re-mapping: planted rotations and directions, files, and the published arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from scipy.stats import ortho_group

from nlgauge.errors import DataWarning, FileFormatError, InputError, RecipeError
from nlgauge.vectors.remap import (
    METHODS,
    Origin,
    Remapping,
    fit_remapping,
    least_squares,
    load_published,
    mismatch_directions,
    procrustes,
)

seeds = st.integers(0, 2**32 - 1)


def rows(seed: int, count: int = 60, width: int = 12) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(count, width))


def rotation(seed: int, width: int = 12) -> NDArray[np.float64]:
    matrix: NDArray[np.float64] = ortho_group.rvs(width, random_state=seed)
    return matrix


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_procrustes_recovers_a_planted_rotation(seed: int) -> None:
    x, planted = rows(seed), rotation(seed)
    assert np.abs(procrustes(x, x @ planted) - planted).max() < 1e-6
    mapped = fit_remapping(x, x @ planted, method="clp").apply(x)
    np.testing.assert_allclose(mapped, x @ planted, atol=1e-6)


def test_procrustes_is_scipy_s_and_the_formula_s() -> None:
    x, z = rows(3), rows(4)
    w = procrustes(x, z)
    np.testing.assert_allclose(w, orthogonal_procrustes(x, z)[0], atol=1e-10)
    np.testing.assert_allclose(w.T @ w, np.eye(12), atol=1e-12)


def test_without_the_constraint_it_is_the_normal_equation() -> None:
    x, z = rows(5), rows(6)
    np.testing.assert_allclose(least_squares(x, z), np.linalg.inv(x.T @ x) @ x.T @ z, atol=1e-9)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_umd_removes_a_planted_direction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = rows(seed)
    planted = rotation(seed)[0]
    x = z + rng.uniform(1, 3, size=(60, 1)) * planted  # the languages differ along one direction only
    result = mismatch_directions(x, z)[0]
    assert abs(abs(result @ planted) - 1) < 1e-9
    both = fit_remapping(x, z, method="umd")
    np.testing.assert_allclose(both.apply(x), both.apply(z, side="target"), atol=1e-5)
    assert np.abs(both.apply(x) @ planted).max() < 1e-5
    source = fit_remapping(x, z, method="umd", umd_sides="source")
    assert np.array_equal(source.apply(z, side="target"), z.astype(np.float32))


def test_the_direction_is_the_first_right_singular_vector_of_numpy_s_svd() -> None:
    x, z = rows(8), rows(9)
    v = np.linalg.svd(x - z)[2][:3]
    result = mismatch_directions(x, z, count=3)
    np.testing.assert_allclose(np.abs(np.sum(result * v, axis=1)), 1, atol=1e-9)
    assert (np.take_along_axis(result, np.abs(result).argmax(axis=1)[:, None], axis=1) > 0).all()


@pytest.mark.parametrize("method", ["clp-umd", "umd-clp"])
def test_compositions_undo_a_rotation_and_a_direction(method: str) -> None:
    """One order fits each world: a direction added before the rotation, or after it."""
    z, turn = rows(1, count=400), rotation(1)
    shift = 5 * rotation(2)[0]
    # x -> x W + shift is undone by rotating first; (x + shift) W by removing first only if shift W = shift.
    x = (z - shift) @ turn.T if method == "clp-umd" else z @ turn.T
    fitted = fit_remapping(x, z, method=method)
    assert [step.kind for step in fitted.operations] == (
        ["linear", "remove"] if method == "clp-umd" else ["remove", "linear"]
    )
    mapped, target = fitted.apply(x), fitted.apply(z, side="target")
    before, after = np.linalg.norm(x - z, axis=1).mean(), np.linalg.norm(mapped - target, axis=1).mean()
    assert after < 0.7 * before


def test_a_composition_is_its_parts_fitted_one_after_the_other() -> None:
    x, z = rows(11), rows(12)
    first = fit_remapping(x, z, method="umd")
    x1, z1 = (rows_ - (rows_ @ first.operations[0].array.T) @ first.operations[0].array for rows_ in (x, z))
    second = fit_remapping(x1, z1, method="clp")
    together = fit_remapping(x, z, method="umd-clp")
    np.testing.assert_allclose(together.apply(x), second.apply(first.apply(x)), atol=1e-5)
    np.testing.assert_allclose(together.apply(z, side="target"), first.apply(z), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_file_gives_the_same_bits_and_digest(tmp_path: Path, method: str) -> None:
    x, z = rows(40), rows(41)
    origin = Origin(model="muse", weights="ab" * 32, layer=0, source="de", target="en", note="a note")
    fitted = fit_remapping(x, z, method=method, origin=origin)
    for name in ("one.npz", "two.npz"):
        fitted.save(tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    loaded = Remapping.load(tmp_path / "one.npz")
    assert loaded.digest == fitted.digest
    assert loaded.origin == fitted.origin == origin._replace(method=method, pairs=60)
    assert loaded.apply(x).tobytes() == fitted.apply(x).tobytes()
    assert fitted.digest != fit_remapping(x, z + 0.1, method=method, origin=origin).digest


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "map.npz"
    fit_remapping(rows(1), rows(2)).save(path)
    with np.load(path) as file:
        content: dict[str, Any] = dict(file)
    content["step0"][0, 0] += 1e-9
    np.savez(path, **content)
    with pytest.raises(FileFormatError, match="its digest does not match its numbers"):
        Remapping.load(path)
    path.write_bytes(b"PK nothing")
    with pytest.raises(FileFormatError, match="is not a re-mapping"):
        Remapping.load(path)
    with pytest.raises(InputError, match="nlgauge align fit"):
        Remapping.load(tmp_path / "none.npz")


def test_vectors_of_another_model_or_layer_are_refused() -> None:
    fitted = fit_remapping(rows(1), rows(2), origin=Origin(model="muse", weights="ab" * 32, layer=0))
    fitted.check_model("ab" * 32, layer=0, width=12)
    with pytest.raises(InputError, match="layer 0 of model 'muse'"):
        fitted.check_model("ab" * 32, layer=1, width=12)
    with pytest.raises(InputError, match="width 12"):
        fitted.apply(rows(1, width=7))
    with pytest.raises(InputError, match="width 12"):
        fit_remapping(rows(1), rows(2)).check_model("", layer=0, width=7)


def test_published_arrays(tmp_path: Path) -> None:
    """Shapes as those of the released files: BAM float32 (d, d) orthogonal, GBDD float32 (d,) of unit length."""
    turn, direction = rotation(50).astype(np.float32), rotation(51)[0].astype(np.float32)
    for name, array in (("de-en.2k.12.BAM", turn), ("de-en.2k.12.GBDD", direction)):
        with (tmp_path / name).open("wb") as file:
            np.save(file, array)
    bam, gbdd = tmp_path / "de-en.2k.12.BAM", tmp_path / "de-en.2k.12.GBDD"
    x = rows(52).astype(np.float32)
    np.testing.assert_allclose(load_published([bam]).apply(x), x @ turn, atol=1e-5)
    removed = x - np.outer(x @ direction, direction)
    np.testing.assert_allclose(load_published([gbdd]).apply(x), removed, atol=1e-5)
    np.testing.assert_allclose(load_published([gbdd, bam]).apply(x), removed @ turn, atol=1e-5)
    assert np.array_equal(load_published([gbdd]).apply(x, side="target"), x)
    assert load_published([gbdd, bam]).origin.method == "umd-clp"


def test_other_files_are_refused_as_published_arrays(tmp_path: Path) -> None:
    path = tmp_path / "x.BAM"
    with path.open("wb") as file:
        np.save(file, rows(1))
    with pytest.raises(FileFormatError, match="orthogonal matrix"):
        load_published([path])
    path.write_bytes(b"text")
    with pytest.raises(FileFormatError, match=r"cannot read .* as an \.npy array"):
        load_published([path])
    with pytest.raises(FileFormatError, match=r"ends in \.BAM or \.GBDD"):
        load_published([tmp_path / "x.npz"])
    with pytest.raises(InputError, match="got none"):
        load_published([])


def test_remapping_refuses_invalid_input() -> None:
    with pytest.raises(RecipeError, match="clp, umd, clp-umd, umd-clp, lsq, centred, rcsls, got 'pca'"):
        fit_remapping(rows(1), rows(2), method="pca")
    with pytest.raises(InputError, match=r"\(60, 12\) and \(50, 12\)"):
        fit_remapping(rows(1), rows(2, count=50))
    broken = rows(1)
    broken[7, 0] = np.nan
    with pytest.raises(InputError, match="row 7 of the target"):
        fit_remapping(rows(1), broken)
    with pytest.raises(RecipeError, match="directions must be 1 to 12"):
        fit_remapping(rows(1), rows(2), method="umd", directions=13)
    with pytest.warns(DataWarning, match="5 pairs do not determine a rotation of 12"):
        fit_remapping(rows(1, count=5), rows(2, count=5))


def test_umd_in_the_printed_form_removes_the_cosine_times_the_direction() -> None:
    """By hand: b = (1, 0); (3, 4) has cosine .6 with it, so that (2.4, 4) is left; the projection leaves (0, 4)."""
    source, target = [[3.0, 4.0], [1.0, 2.0]], [[1.0, 4.0], [0.0, 2.0]]
    printed = fit_remapping(source, target, method="umd", umd_form="cosine")
    np.testing.assert_allclose(printed.apply([[3.0, 4.0], [0.0, 0.0]]), [[2.4, 4.0], [0.0, 0.0]], atol=1e-6)
    np.testing.assert_allclose(
        fit_remapping(source, target, method="umd").apply([[3.0, 4.0]]), [[0.0, 4.0]], atol=1e-6
    )
    # Of unit vectors both are the same.
    unit = [[0.6, 0.8]]
    projection = fit_remapping(source, target, method="umd")
    np.testing.assert_allclose(printed.apply(unit), projection.apply(unit), atol=1e-6)
    assert printed.digest != projection.digest
    with pytest.raises(RecipeError, match="umd_form must be 'projection' or 'cosine'"):
        fit_remapping(source, target, method="umd", umd_form="both")  # type: ignore[arg-type]


def test_the_printed_form_is_stored(tmp_path: Path) -> None:
    fitted = fit_remapping([[3.0, 4.0]], [[1.0, 4.0]], method="umd", umd_form="cosine")
    fitted.save(tmp_path / "umd.npz")
    loaded = Remapping.load(tmp_path / "umd.npz")
    assert loaded.digest == fitted.digest
    np.testing.assert_array_equal(loaded.apply([[1.0, 1.0]]), fitted.apply([[1.0, 1.0]]))
