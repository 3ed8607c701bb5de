"""Random tables of systems and segments."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

Array = NDArray[np.float64]
NAN = math.nan

#: Two matrices of systems x segments of small integers, some human scores missing.
tables = st.tuples(st.integers(2, 5), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(
        arrays(float, shape, elements=st.integers(0, 6).map(float)),
        arrays(float, shape, elements=st.sampled_from([0.0, 1.0, 2.0, NAN])),
    )
)
