"""Page of the Space: evaluate's default form for the metric."""

import evaluate
from evaluate.utils import launch_gradio_widget

launch_gradio_widget(evaluate.load("nlgauge_bertscore.py"))
