"""The disk of a crawl: its directory, and what to do when the disk is full.

directory        where state and output are, and who may use them
holders          which command uses a directory
unlocking        when a directory becomes free, and whether it is still there
permissions      why a folder can't be written to, or a file can't be locked
going_on         the command by which a crawl goes on
layout           the directories of the parts of a crawl
clearing         deletes a crawl
lineages         which record numbers are left to a crawl
pruned           what was deleted of its output
earlier          where earlier crawls have their archives
syncing          brings files onto the disk
free_space       pauses the crawl before the disk is full
used_space       pauses the crawl when it takes more space than it may
full_disk_retry  repeats writes that fail because the disk is full
"""
