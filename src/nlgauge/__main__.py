"""`python -m nlgauge`."""

import sys

from nlgauge.apps.cli import main

sys.exit(main())
