"""BERTScore by nlgauge, for `evaluate.load("OWNER/nlgauge_bertscore")` or a path to this folder."""

import datasets
import evaluate

import nlgauge.apps.compat.evaluate

_DESCRIPTION = "BERTScore; the hash code is a signature of all inputs by digest."
_INPUTS = """
predictions: list of texts
references: list of texts, or of lists of texts (the best of each of precision, recall and F counts)
options: those of bert_score.score, such as model_type="minilm", lang="en", idf=True
returns: precision, recall and f1 (a list each), and hashcode (the signature)
"""


class NlgaugeBertscore(evaluate.Metric):
    """Adapter of `nlgauge.apps.compat.evaluate` to the interface of evaluate."""

    def _info(self):
        text = datasets.Value("string", id="sequence")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation="",
            inputs_description=_INPUTS,
            features=[
                datasets.Features({"predictions": text, "references": datasets.Sequence(text, id="references")}),
                datasets.Features({"predictions": text, "references": text}),
            ],
            reference_urls=["https://github.com/nlgauge/nlgauge"],
        )

    def _compute(self, predictions, references, **options):
        bertscore = nlgauge.apps.compat.evaluate.load("bertscore")
        return bertscore.compute(predictions=predictions, references=references, **options)
