"""The compiled extensions under AddressSanitizer and UndefinedBehaviorSanitizer.

`build` compiles an extension of setup.py with the sanitizers, in a directory of its own. `child` is a process that
loads it in place of the installed one and runs its target. A target is a module here, named like the extension: it
compares functions with their references, and gives correct calls. `child` also makes these calls with wrong arguments,
without memory, and while garbage is collected. A sanitizer ends the process at the first fault; `child` repeats calls
to find leaks.

A seed and a number determine each case, so you can run one again:
`python -m tests.sanitizers.build scan --seed 1 --first 250 --cases 1`.
"""
