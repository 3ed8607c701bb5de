"""For tests of metrics and engines: an encoder that needs no files, and the promises that a metric keeps::

    import nlgauge.testing

    @pytest.mark.parametrize("contract", nlgauge.testing.CONTRACTS)
    def test_my_metric_keeps_its_promises(contract):
        with nlgauge.testing.hash_encoder() as model:
            nlgauge.testing.CONTRACTS[contract](MyMetric(model=model))

`check_metric` runs all of them, one after the other.
"""

from nlgauge.testing.contracts import CONTRACTS, check_metric
from nlgauge.testing.hash_encoder import HashEncoder, hash_encoder

__all__ = ["CONTRACTS", "HashEncoder", "check_metric", "hash_encoder"]
