"""Programs, run in the mind.

From below:

- ``conditions`` (which ranks, which unseen answers), ``values`` (what an expression may be), ``facts`` (what a program
  does);
- ``machine`` (state, branches, loops, functions), with ``budget`` (how often a function is followed) and ``binding``
  (what statements bind); it is given what evaluates, executes and calls, so that nothing above imports in a circle;
- ``statements``; ``expressions`` with ``operators``, ``branching``, ``elements``, ``attributes``, ``members`` and
  ``importing``; ``calls`` with ``arguments``, ``instances``, ``iteration`` and ``entering`` (context managers);
- ``library`` (stand-ins for torch and Python's own);
- ``program`` (one file as a program) and ``interest`` (which functions nobody calls are run);
- what the rules ask of what was seen: ``questions``, ``sharing`` (who shares samples out), ``placing`` (where a finding
  stands), ``prefixes`` (which files are stripped of ``module.``).
"""
