"""``python -m ddplint.harness`` is the same as ``ddplint-run``."""

import sys

from ddplint.harness.command import main

if __name__ == "__main__":
    sys.exit(main())
