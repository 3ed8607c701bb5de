"""Drop-ins: the interfaces of packages that people use already, with nlgauge behind them.

Each module needs its package only where it is the package's own interface (`torchmetrics`, `pandas`); the drop-ins of
bert-score and evaluate need neither of the two.
"""
