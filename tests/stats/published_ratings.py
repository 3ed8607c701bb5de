"""Ratings of published worked examples."""

from __future__ import annotations

import numpy as np

#: Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section D: four observers, twelve units, missing
#: ratings; alpha is .743 (nominal), .815 (ordinal) and .849 (interval).
NO = None
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
    [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
]
#: Fleiss (1971), Table 1: diagnoses of 30 patients by six psychiatrists; kappa is .430.
DIAGNOSES = """
    00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
    00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
#: The worked example of Wikipedia's article "Fleiss' kappa": ten subjects, fourteen raters; kappa is .210.
SUBJECTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
#: Cohen (1960), Table 1, as counts of 200: personality disorder, neurosis and psychosis by two judges; kappa is .492.
JUDGES = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]


def judged() -> tuple[np.ndarray, np.ndarray]:
    """The ratings of the two judges, one per item."""
    cells = [(row, column) for row in range(3) for column in range(3) for _ in range(JUDGES[row][column])]
    first, second = np.array(cells).T
    return first, second
