"""Sensitivity to preprocessing: studies that vary one field of a recipe and keep the rest."""

from nlgauge.studies.sensitivity.measure import run_study, systems_table
from nlgauge.studies.sensitivity.results import Ranking, Sensitivity, SettingEffect, SettingInfo
from nlgauge.studies.sensitivity.study import Setting, Study, Sweep, load_study
from nlgauge.studies.sensitivity.variants import PRESETS, StudyOptions, preset

__all__ = [
    "PRESETS",
    "Ranking",
    "Sensitivity",
    "Setting",
    "SettingEffect",
    "SettingInfo",
    "Study",
    "StudyOptions",
    "Sweep",
    "load_study",
    "preset",
    "run_study",
    "systems_table",
]
