"""Reserves requests in groups whose servers other parts of the crawl may ask, too."""

from frontier.parts.protocol import Reservations
from frontier.queues.queue import Queue
from frontier.records import QueueUpdate
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.transitions.leasing import OpenLease


class Reserving:
    """Begins and ends the requests of leases, as `ActiveQueues.reservations` allows. Without these, it does nothing."""

    def __init__(self, active: ActiveQueues) -> None:
        self._active = active

    def begin(self, held: OpenLease, now: float) -> bool:
        """Begin the request of a lease in the group of the server that it is for; if that is not possible now, close
        the group. A request belongs to one such group at most, so no part holds one while it waits for another."""
        reservations, schedule = self._active.reservations, self._active.schedule
        if reservations is None:
            return True
        for group in self._groups(reservations, held.queue, for_prerequisite=held.for_prerequisite):
            if group in held.reserved:
                continue
            if not reservations.begin(group, now=now):
                schedule.groups.close(group, until=reservations.wake_at(group), now=now)
                return False
            held.reserved += (group,)
        return True

    def relocate(self, held: OpenLease, *, for_prerequisite: bool) -> None:
        """The server of the lease had another address than expected."""
        if (reservations := self._active.reservations) is None:
            return
        for group in self._groups(reservations, held.queue, for_prerequisite=for_prerequisite):
            if group not in held.reserved:
                reservations.begin_unasked(group)
                held.reserved += (group,)

    def end(self, held: OpenLease, update: QueueUpdate) -> None:
        """The lease has ended with this update of its queue."""
        if (reservations := self._active.reservations) is None:
            return
        now, rests = self._active.now(), dict(update.group_rests)
        for group in held.reserved:
            reservations.end(group, max(0.0, rests.get(group, 0.0) - now), now=now)

    def _groups(self, reservations: Reservations, queue: Queue, *, for_prerequisite: bool) -> list[str]:
        """The groups in which the next request of a leased queue is to be reserved."""
        key, address = queue.key, queue.record.address
        if for_prerequisite and queue.prerequisite is not None:
            key, address = queue.prerequisite.key, queue.prerequisite.address
        names = self._active.settings.grouping.groups_of(key, address)
        return [name for name in names if reservations.covers(name)]
