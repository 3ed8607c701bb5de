"""`python -m nlgauge`."""

import sys

from nlgauge.cli import main

sys.exit(main())
