"""Finds backends: ours, and those of other packages, the plug-ins.

A *descriptor* is a value that describes a backend. It has a place: `package.module:NAME`. The configuration names it

    by its name     which is ours, or which a package has registered as an entry point of `onceover.visited` or the like
    by its path     the place itself; there may also be the class, or a function that makes the component

The modules:

    kinds       the kinds of backends, with the places of ours
    packages    what is installed
    loading     imports a backend that is named, and checks what it finds
    checks      whether a component has the methods of its protocol, and returns what it must; `PluginFailed`
    catalog     puts these together, and tells the configuration which options and needs a backend has
    guarded     keeps what a plug-in raises for one page from ending the crawl
    guarded_stores, guarded_frontier
                check what a visited set, a sink and a frontier of others return
    blame       names the package when a plug-in fails while it is used

A plug-in is imported only when it is named. Whatever is wrong with it becomes a `PluginRefused`, whose one line names
the plug-in and its package.
"""
