"""`python -m weft`: what the command `weft` does."""

import sys

from weft.cli import main

if __name__ == "__main__":
    sys.exit(main())
