"""Programs, run in the mind.

From below: ``conditions`` (which ranks, which unseen answers), ``values`` (what an expression may be), ``facts`` (what
a program does), ``machine`` with ``statements``, ``expressions``, ``calls`` and ``library`` (running it), ``program``
(one file as a program), ``questions`` (what the rules ask of what was seen).
"""
