"""`python -m verification.proof`."""

import sys

from verification.proof.cli import main

if __name__ == "__main__":
    sys.exit(main())
