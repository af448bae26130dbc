"""A crawl on many machines, as its operator sees it: through the register in Redis, from any machine.

reaching   finds the register
making     makes a crawl, or puts one of this machine on many
dividing   gives it more or fewer parts, when these are in one place
status     reads how it is, in the values of `forms`
advice     what to do about it; pure
settings   changes the settings while no machine runs
changing   stops all machines; lets a part that is lost be made again, or an older directory of it be taken
"""
