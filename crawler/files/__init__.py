"""Files and folders, whatever they hold. Nothing here knows a crawl.

replacing   replaces a file as a whole
content     what a file holds, and how it ends
folders     brings the names in a folder onto the disk, tells whether one still has its name, and deletes folders
temporary   databases in temporary files
"""
