"""The page of the Space: evaluate's own form around the metric."""

import evaluate
from evaluate.utils import launch_gradio_widget

launch_gradio_widget(evaluate.load("nlgauge_bertscore.py"))
