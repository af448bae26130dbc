"""Chooses how a visited set is asked."""

from frontier.store import Store
from frontier.transitions.asking.local import LocalAsking
from frontier.transitions.asking.protocol import Asking
from frontier.transitions.asking.shared import SharedAsking
from frontier.transitions.commit import Commit
from visited import SharedSet, VisitedSet


def asking(store: Store, visited: VisitedSet, commit: Commit) -> Asking:
    """How a visited set is asked."""
    if isinstance(visited, SharedSet):
        return SharedAsking(store, visited, visited, commit)
    return LocalAsking(store, visited, commit)
