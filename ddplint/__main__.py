"""``python -m ddplint`` is the same as ``ddplint``."""

import sys

from ddplint.command import main

if __name__ == "__main__":
    sys.exit(main())
