"""`python -m weft.compat script.py arguments...`: what `weft run` does."""

import sys

from weft.compat.command import main

if __name__ == "__main__":
    sys.exit(main())
