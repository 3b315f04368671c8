"""The runtime harness: ``ddplint-run`` shows by running what the linter says from the text.

Alone in this package torch is imported, and only inside functions: each command can say in one line that it is missing.

==============  ========================================================================================================
``command``     the command line; each command is a module or package with ``add_options`` and ``run``
``statuses``    the exit statuses
``show``        tables and lines, for a terminal, a pipe or a machine
``launch``      starts a program under torchrun or plainly, ends it in time, and leaves no process behind
``ending``      how a launched program ended: its first real error, its stacks, trouble of torch's at exit
``guard``       runs in each launched process: dies with its parent, notes errors and where it stood
``scratch``     temporary folders, and who removes them
``orphans``     processes that a program leaves behind
``keeper``      a process that does so, and ends what runs there, should the command be killed
``site``        the folder that every started interpreter has on its path; ``sitecustomize`` guards the process
``options``     values that several commands take
``ranks``       runs a function on forked ranks that are joined in a process group
``reference``   the trainer to start from; ``train`` runs it
``prove``       each rule's mistake and cure, run side by side
``watch``       a script as it is, observed
``scale``       the scaling table and its causes
==============  ========================================================================================================
"""
