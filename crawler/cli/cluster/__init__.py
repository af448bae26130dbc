"""onceover cluster

command   the group, with status, stop and adopt
making    init
server    how they name the server
"""
