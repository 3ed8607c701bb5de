"""From layer vectors to a cloud: points, weights and labels."""

from nlgauge.clouds.cloud import Cloud, idf_weights, unit_rows

__all__ = ["Cloud", "idf_weights", "unit_rows"]
