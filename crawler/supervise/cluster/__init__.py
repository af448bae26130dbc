"""One crawl on many machines: what each machine does, and what one of them decides for all.

On each machine runs an *agent*. It holds the leases of the parts that are here (`crawler.cluster`), and runs a process
for each of them, as a supervisor does. One agent holds the lease of the *coordinator*, too. It decides for the whole
crawl (`crawler.supervise.coordination`): it knows each part by what the part's agent passes on.

Agents connect to the coordinator over the exchange of links (`crawler.parts.exchange.redis`). When a connection breaks,
nobody knows what of the last messages has arrived. So both sides begin again: the agent tells its parts that they are
disconnected, connects, and says for each part how it is; services of parts then begin as those of a new process do.
While nobody decides, parts go on with what they may do alone: they fetch and send links, but begin no page beyond what
they are allowed, and ask no address that others may ask.

What outlives a coordinator:

- Agents remember how far the *run* is (`crawler.supervise.coordination.coordinator.RunState`), and tell it the next
  coordinator.
- The *ending mark* in the register ends the run for all. The coordinator writes it when the crawl is complete or a
  limit is reached, only while it holds its lease; `onceover cluster stop` writes it, too. An agent obeys the first mark
  that was not there when it started. So an agent that is started later begins the next run.
- A new coordinator ends nothing before it has heard all parts: one without a line is not idle.

An agent that is stopped, or whose part can't go on, leaves: its parts finish what is in flight, and their leases are
released. Their directories may move to another machine then.

    messages               what agents and coordinator say to each other
    line                   one end of a connection between them
    coordinator_server     the coordinator's side
    deciding               whether this machine is the coordinator's, and its server then; which parts nobody runs for
                           certain
    coordinator_client     the agent's side
    parts_here             the processes of the parts on this machine, and which configuration each works with
    choosing               which parts a machine would run; pure
    agent                  leases, processes and the way to the coordinator together, from start to end
    settings               changes of the configuration: in the register, and in all parts
    operating              answers commands on this machine
    joining                from the URL of a server to an agent that may run
"""
