"""Sensitivity to preprocessing: studies that vary one field of a recipe and keep the rest."""

from nlgauge.studies.sensitivity.measure import (
    SensitivityOptions,
    StudyOptions,
    run_study,
    sensitivity,
    systems_table,
)
from nlgauge.studies.sensitivity.results import Sensitivity, SettingEffect, SettingInfo, SettingRanking
from nlgauge.studies.sensitivity.study import PRESETS, Setting, Study, Sweep, load_study, preset

__all__ = [
    "PRESETS",
    "Sensitivity",
    "SensitivityOptions",
    "Setting",
    "SettingEffect",
    "SettingInfo",
    "SettingRanking",
    "Study",
    "StudyOptions",
    "Sweep",
    "load_study",
    "preset",
    "run_study",
    "sensitivity",
    "systems_table",
]
