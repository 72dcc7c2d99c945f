// The body of a suite with fake timers, for jest and for vitest: elections continue in real time, and nothing is left open.

module.exports = function suite({ test, expect, timers }) {
  const { connect, TimedOutError } = require('incumbent');
  const { ManualClock, ScriptedElection, until } = require('incumbent/testing');

  test('work starts and stops as the script says', async () => {
    const election = new ScriptedElection();
    const done = [];
    const job = election.candidate.lead(async (term) => {
      done.push(term.token);
      await term.draining();
    });
    const token = election.acquire();
    await until('the work has begun', () => done.includes(token));
    election.drain('RESIGNED');
    await until('the work has stopped', () => !election.candidate.isLeader);
    await election.candidate.close();
    await job;
  });

  test('a timer of the work fires when the test advances the timers', async () => {
    const election = new ScriptedElection();
    const sent = [];
    const job = election.candidate.lead(async (term) => {
      const timer = setInterval(() => sent.push(term.isCurrent()), 60_000);
      await term.draining();
      clearInterval(timer);
    });
    election.acquire();
    await until('the timer is set', () => timers.count() === 1);
    timers.advance(120_000);
    expect(sent).toEqual([true, true]);
    await election.candidate.close();
    await job;
    expect(timers.count()).toBe(0);
  });

  test('a lease ends when its clock is advanced, whatever the timers', async () => {
    const clock = new ManualClock();
    const election = new ScriptedElection({ clock });
    election.acquire(5000);
    timers.advance(60_000);
    expect(election.candidate.isLeader).toBe(true);
    clock.advance(5000);
    expect(election.candidate.isLeader).toBe(false);
  });

  test('a candidate in a store wins, and the time limit of a call is real', async () => {
    const store = await connect('memory:suite');
    const leader = await store.campaign('jobs', { name: 'a', preset: 'test', splay: 0 });
    await leader.nextTerm();
    const other = await store.campaign('jobs', { name: 'b', preset: 'test', splay: 0 });
    await expect(other.nextTerm({ timeout: 50 })).rejects.toBeInstanceOf(TimedOutError);
    await store.close();
  });
};
