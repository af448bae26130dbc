"""What the outcome of a fetch says about the server of a queue. Pure."""

from frontier.values import Health, Outcome

HEALTHY = Health()
"""Of nearly all servers."""


def next_health(before: Health, outcome: Outcome, *, now: float) -> Health:
    """The health after an outcome for which the server was asked."""
    if outcome.server_ok:
        return Health(pressure=outcome.pressure) if outcome.pressure else HEALTHY
    return Health(
        error_streak=before.error_streak + 1 if before.answered == outcome.answered else 1,
        answered=outcome.answered,
        trouble=outcome.reason,
        pressure=outcome.pressure,
        probe_at=now + outcome.dead_for_s if outcome.dead_for_s else 0.0,
    )
