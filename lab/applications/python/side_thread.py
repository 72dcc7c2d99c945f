"""The work of a term on a side thread, for servers whose main thread does something else."""

import work

import incumbent.sync


def lead(term: incumbent.sync.Term) -> None:
    while work.step(term):
        try:
            term.draining(timeout=work.PAUSE)
        except incumbent.TimedOutError:
            continue
        return


def start() -> "incumbent.sync.Run[None]":
    return incumbent.sync.start(work.STORE, work.ELECTION, lead, splay=0)
