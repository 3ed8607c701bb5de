"""`python -m nlgauge.cli`."""

import sys

from nlgauge.cli import main

sys.exit(main())
