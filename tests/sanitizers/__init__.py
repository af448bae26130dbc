"""The compiled extensions under AddressSanitizer and UndefinedBehaviorSanitizer.

`build` compiles each extension of setup.py with the sanitizers into a directory of its own. `child` is a process that
loads one of them in place of the installed one and runs its target: a module here, named as the extension, that holds
its functions against their references and says how each is called. `child` then calls them with wrong arguments, and
with memory that runs out. A sanitizer ends the process at the first fault; a leak shows when calls are repeated.

Every case follows from a seed and its number, so each one can be run again:
`python -m tests.sanitizers.build scan --seed 1 --first 250 --cases 1`.
"""
