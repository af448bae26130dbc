"""When a page is visited again. Pure: it knows no clock.

A *schedule* gives the interval from a visit to the next one, from what that visit has found. So the next visit is never
due in the past.

    change_rate   estimates how often a page changes, from the history of its visits
    allotment     divides a budget of visits among pages that change at known rates
    known_pages   counts the pages that the budget is for
    schedules     the schedules, what a visit has found, and the bounds of intervals
    planning      from a settled URL to the interval
"""
