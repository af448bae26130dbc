"""Numbers with a meaning: exit codes of the command, and errors of the system."""
