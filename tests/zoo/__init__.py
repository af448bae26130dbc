"""What servers do to crawlers: a host for each behaviour, under `zoo.test`, and what a crawl must make of it.

`animals` lists the behaviours that a script of bytes can show, `bombs` writes bodies that unfold, `keeper` serves them
all: on one plain port by the host that is asked for, and on ports of their own what happens below HTTP. A behaviour is
named by its host, `http://endless-body.zoo.test/`, and has one outcome, in the words of `outcome_of`:

    page 200                a page, with its status
    page 200 cut:length     with the reason why it is not whole
    redirect                which is a discovery; where to is judged by scope, guard and the limit on redirects
    not-modified
    failed timeout          no response, and the kind of failure
"""
