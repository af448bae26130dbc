"""A crawl on many machines, as its operator sees it: through the register in Redis, from any machine.

reaching     finds the register
making       makes a crawl
registering  puts a crawl of one machine on many
dividing     gives it more or fewer parts, when these are in one place
status       reads how it is, in the values of `forms`
advice       what to do about it; pure
changing     changes the settings while no machine runs
stopping     ends the run of all machines
adopting     lets a part that is lost be made again, or an older directory of it be taken
"""
