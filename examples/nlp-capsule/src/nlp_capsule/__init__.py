"""NLP-Capsule: text classification and answer selection with capsules that are routed by agreement.

Zhao, Peng, Eger, Cambria, Yang 2019, "Towards Scalable and Reliable Capsule Networks for Challenging NLP
Applications".

    text          words to numbers
    layers        feature maps, primary capsules, compression, proposals
    routing       proposals to poses, independently per instance
    network       the whole network and its number of parameters
    partial       partial routing: selection of labels per text, in training and inference
    losses, training, measures
    answers       cosine of two poses
    baseline      a bag of words, for comparison
    tasks, pairs, eurlex    data
    experiments   training and evaluation of a network and its baseline
"""

from nlp_capsule.answers import AnswerPairs, draw_candidates, score_answers, train_answers
from nlp_capsule.baseline import BagOfWords
from nlp_capsule.eurlex import load_eurlex
from nlp_capsule.measures import answer_quality, label_quality, ndcg_at_k, precision_at_k
from nlp_capsule.network import EURLEX, CapsuleConfig, CapsuleNetwork, count_parameters
from nlp_capsule.pairs import load_pairs
from nlp_capsule.partial import CandidateNetwork, choose_outputs
from nlp_capsule.routing import Routed, adaptive_kde_routing, dynamic_routing, kde_routing, squash
from nlp_capsule.tasks import LabelledTexts, Split, load_task
from nlp_capsule.text import Vocabulary, read_vectors
from nlp_capsule.training import TrainingPlan, new_network, score_labels, train, train_candidates

__all__ = [
    "EURLEX",
    "AnswerPairs",
    "BagOfWords",
    "CandidateNetwork",
    "CapsuleConfig",
    "CapsuleNetwork",
    "LabelledTexts",
    "Routed",
    "Split",
    "TrainingPlan",
    "Vocabulary",
    "adaptive_kde_routing",
    "answer_quality",
    "choose_outputs",
    "count_parameters",
    "draw_candidates",
    "dynamic_routing",
    "kde_routing",
    "label_quality",
    "load_eurlex",
    "load_pairs",
    "load_task",
    "ndcg_at_k",
    "new_network",
    "precision_at_k",
    "read_vectors",
    "score_answers",
    "score_labels",
    "squash",
    "train",
    "train_answers",
    "train_candidates",
]
