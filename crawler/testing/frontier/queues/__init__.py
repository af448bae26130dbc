"""How queues are served: turns, budgets, precedence, and the pace of hosts, addresses and domains.

These tests open frontiers with other `QueueSettings`. A frontier that can't follow one of these names it in
`ignored_settings`; tests that need it are skipped then.
"""
