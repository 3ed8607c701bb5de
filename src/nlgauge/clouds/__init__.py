"""From layer vectors to a cloud: points, weights and labels."""

from nlgauge.clouds.aggregate import barycentre_of_layers, power_mean, power_means, routing
from nlgauge.clouds.cloud import Cloud, LabelledCloud, idf_weights, unit_rows
from nlgauge.clouds.filters import TokenFilter
from nlgauge.clouds.ngrams import ngrams
from nlgauge.clouds.token_cloud import TokenCloud, TokenPoints

__all__ = [
    "Cloud",
    "LabelledCloud",
    "TokenCloud",
    "TokenFilter",
    "TokenPoints",
    "barycentre_of_layers",
    "idf_weights",
    "ngrams",
    "power_mean",
    "power_means",
    "routing",
    "unit_rows",
]
