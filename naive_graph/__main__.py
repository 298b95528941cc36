"""`python -m naive_graph` is the same as `naive-graph`."""

import sys

from .cli.main import main

if __name__ == "__main__":
    sys.exit(main())
