"""onceover cluster

command   the group
server    how they name the server
making, showing, stopping, adopting   its commands
"""
