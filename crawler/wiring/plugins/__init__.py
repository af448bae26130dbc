"""Finds backends: ours, and those of other packages, the plug-ins.

A *descriptor* is a value that describes a backend. It has a place: `package.module:NAME`. The configuration names it

    by its name     which is ours, or which a package has registered as an entry point of `onceover.visited` or the like
    by its path     the place itself; there may also be the class, or a function that makes the component

`kinds` lists the kinds of backends, with the places of ours. `packages` knows what is installed. `loading` imports a
backend that is named, and checks what it finds. `catalog` puts these together, and tells the configuration which
options and needs a backend has. `guarded` keeps what a plug-in raises for one page from ending the crawl,
`guarded_set` checks the answers of a visited set, `checked_frontier` what a frontier gives when it is opened,
`guarded_frontier` its answers, `guarded_reads` what it tells about queues and URLs, `guarded_sink` what is read back
of a sink, and `blame` names the package when a plug-in fails while it is used (`failures`). `listing` describes all
of them, for `onceover plugins`.

A plug-in is imported only when it is named. Whatever is wrong with it becomes a `PluginRefused`, whose one line names
the plug-in and its package.
"""
