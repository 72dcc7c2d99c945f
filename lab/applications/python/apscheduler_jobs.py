"""APScheduler: a scheduler for each term, whose job is the work."""

import work
from apscheduler.schedulers.background import BackgroundScheduler

import incumbent.sync


def lead(term: incumbent.sync.Term) -> None:
    scheduler = BackgroundScheduler()
    scheduler.add_job(work.step, "interval", seconds=0.2, args=[term])
    scheduler.start()
    term.draining()
    scheduler.shutdown()


incumbent.sync.run(work.STORE, work.ELECTION, lead, splay=0)
