"""Numbers only: resampling, tests and correlations on arrays."""

from nlgauge.stats.bootstrap import Interval, bootstrap_mean

__all__ = ["Interval", "bootstrap_mean"]
