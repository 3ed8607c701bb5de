"""Drop-in replacements: interfaces of other packages, computed by nlgauge.

Each module needs its package only where it is the package's own interface (`torchmetrics`, `pandas`); the drop-ins of
bert-score and evaluate need neither of the two.
"""
