"""`python -m companyos_gateway.proof`."""

import sys

from companyos_gateway.proof.command import main

if __name__ == "__main__":
    sys.exit(main())
