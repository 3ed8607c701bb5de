"""What preprocessing moves: studies that vary one field of a recipe and keep the rest."""

from nlgauge.sensitivity.options import StudyOptions
from nlgauge.sensitivity.presets import PRESETS, preset
from nlgauge.sensitivity.results import Ranking, Sensitivity, SettingEffect, SettingInfo
from nlgauge.sensitivity.run import run_study, systems_table
from nlgauge.sensitivity.study import Setting, Study, Sweep, load_study

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
