"""ddplint finds silent mistakes in PyTorch DistributedDataParallel training scripts.

``pylint --load-plugins=ddplint`` uses it as a plugin, ``ddplint PATHS`` as a command of its own.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pylint.lint import PyLinter

__version__ = "0.1.0"


def register(linter: PyLinter) -> None:
    """Add ddplint's checker and formats to ``linter``; pylint calls this when it loads the plugin."""
    # Imported here: the command must be able to end before pylint is imported.
    from ddplint.checker import DdpChecker
    from ddplint.reporters import REPORTERS

    linter.register_checker(DdpChecker(linter))
    for reporter in REPORTERS:
        linter.register_reporter(reporter)


def load_configuration(linter: PyLinter) -> None:
    """Check ddplint's options; pylint calls this when it has read the configuration and the command line."""
    from ddplint.checker import DdpChecker, check_options

    check_options(linter)
    for checker in linter.get_checkers():
        if isinstance(checker, DdpChecker):
            checker.read_baseline()
