/** Plays a scenario through this package, and checks the rules of every scenario. */

import { connect, type IncumbentError, type Observation, type Store } from '../../dist/index.js';
import { Actor, Broken, settingsOf, type Part, type Told } from './actor.js';
import { type Harness, inTime, type Prepared } from './harness.js';

/** The time limit of an expectation; no scenario depends on it. */
const TIMEOUT_MS = 60_000;
/** Answers that are further apart may be from two terms. */
const CLOSE_MS = 50;

interface Moment {
  mark: string;
  leases: number;
}

export interface Step {
  do: string;
  candidate?: string;
  candidates?: string[];
  as?: string;
  election?: string;
  error?: string;
  names?: string;
  to?: string;
  healthy?: boolean;
  observer?: string;
  value?: string;
  mark?: string;
  not_before?: Moment;
  before?: Moment;
  reason?: string;
  or?: string;
  drained?: boolean;
  leads?: boolean;
  leases?: number;
  state?: string;
  leader?: string | null;
  warning?: string;
  metadata?: Record<string, string>;
}

export interface Scenario {
  name: string;
  needs?: string[];
  /** The stores that it does not apply to, each with the reason. */
  not_on?: Record<string, string>;
  lease_ms: number;
  candidates: Record<string, Part>;
  steps: Step[];
}

/** Plays a scenario; throws an error with the step, the expectation and the observation. */
export async function play(scenario: Scenario, prepared: Prepared, harness: Harness): Promise<void> {
  const ownStore = await inTime('a connection', connect(prepared.url));
  const run = new ScenarioRun(scenario, prepared, harness, ownStore);
  const leaderCheck = setInterval(() => run.look(), 1);
  let place = 0;
  try {
    for (const step of scenario.steps) {
      place += 1;
      await inTime('the step', run.step(step));
      run.check();
    }
    place += 1;
    await inTime('the end', run.end());
    await inTime('closing the store', ownStore.close());
  } catch (error) {
    const { message } = error as Error;
    const step = JSON.stringify(scenario.steps[place - 1] ?? 'the end');
    throw new Error(`step ${place}, ${step}: ${message}\n${run.story()}`, { cause: error });
  } finally {
    clearInterval(leaderCheck);
    // The scenario does not test this error.
    await inTime('closing the stores', Promise.all([run.close(), ownStore.close()])).catch(() => undefined);
  }
}

class ScenarioRun {
  readonly #actors = new Map<string, Actor>();
  readonly #stores = new Map<string, Store>();
  /** The stores of killed connections, once they are closed. */
  readonly #killed: Promise<void>[] = [];
  readonly #marks = new Map<string, number>();
  readonly #seen = new Map<string, Observation[]>();
  readonly #tokens = new Map<string, string>();
  #twoLead: string | undefined;

  constructor(
    readonly scenario: Scenario,
    readonly prepared: Prepared,
    readonly harness: Harness,
    readonly ownStore: Store,
  ) {
    for (const [id, part] of Object.entries(scenario.candidates)) {
      const election = part.election ?? 'jobs';
      this.#actors.set(id, new Actor(id, part, election, (token) => this.#won(election, token)));
    }
  }

  async step(step: Step): Promise<void> {
    const election = step.election ?? 'jobs';
    switch (step.do) {
      case 'campaign':
        return this.#campaign(this.#actor(step), step);
      case 'resign':
        return this.#actor(step).call(this.#candidate(step).resign());
      case 'hand_over':
        return this.#actor(step).call(this.#candidate(step).handOver(step.to!));
      case 'close':
        return this.#actor(step).call(this.#candidate(step).close());
      case 'close_store':
        return this.#actor(step).call(this.#stores.get(connectionOf(this.#actor(step)))!.close());
      case 'set_healthy':
        return this.#candidate(step).setHealthy(step.healthy!);
      case 'finish_work':
        return this.#actor(step).finish();
      case 'fail_work':
        return this.#candidate(step).term!.fail();
      case 'observe':
        return this.#observe(step.observer!, election);
      case 'kill':
        await this.harness.ask({ do: 'kill', connection: connectionOf(this.#actor(step)) });
        this.#actor(step).kill();
        this.#closeKilled(connectionOf(this.#actor(step)));
        return;
      case 'cut':
      case 'heal':
        await this.harness.ask({ do: step.do, connection: connectionOf(this.#actor(step)) });
        return;
      case 'put_key':
        await this.harness.ask({ do: 'put_key', key: election, value: step.value });
        return;
      case 'delete_key':
        await this.harness.ask({ do: 'delete_key', key: election });
        return;
      case 'reset_store':
      case 'stop_server':
      case 'start_server':
        await this.harness.ask({ do: step.do });
        return;
      case 'mark':
        this.#marks.set(step.mark!, performance.now());
        return;
      default:
        return this.#expect(step, election);
    }
  }

  async #expect(step: Step, election: string): Promise<void> {
    switch (step.do) {
      case 'expect_won':
        return this.#inTime(step, await this.#next(this.#actor(step), 'won'));
      case 'expect_any_won': {
        const actors = step.candidates!.map((id) => this.#actors.get(id)!);
        await this.#until('one of them receives an event', () => actors.some((one) => one.log.length > one.read));
        const first = actors
          .filter((one) => one.log.length > one.read)
          .sort((a, b) => a.log[a.read]!.at - b.log[b.read]!.at)[0]!;
        this.#actors.set(step.as!, first);
        return this.#inTime(step, await this.#next(first, 'won'));
      }
      case 'expect_draining':
        return same('the reason', (await this.#next(this.#actor(step), 'draining')).reason, [step.reason]);
      case 'expect_lost': {
        const actor = this.#actor(step);
        await this.#until('an event arrives', () => actor.log.length > actor.read);
        if (actor.log[actor.read]!.type === 'draining') {
          actor.read += 1;
        }
        const lost = await this.#next(actor, 'lost');
        same('the reason', lost.reason, [step.reason, step.or]);
        if (step.drained !== undefined) {
          same('whether it drained', lost.drained, [step.drained]);
        }
        return this.#inTime(step, lost);
      }
      case 'expect_returned': {
        const call = this.#actor(step).calls.shift();
        if (call === undefined) {
          throw new Error('there is no call to return');
        }
        return same('what it returned with', codeOf(await this.#soon(call)), [step.error ?? null]);
      }
      case 'expect_is_leader':
        return same('whether it leads', this.#actor(step).leads, [step.leads]);
      case 'expect_still_leads': {
        const { term } = this.#candidate(step);
        const actor = this.#actor(step);
        return this.#during(step.leases!, 'it keeps leading', () => {
          const isSame = actor.candidate?.term?.token === term?.token;
          return term !== null && actor.leads && isSame && actor.log.length === actor.read;
        });
      }
      case 'expect_nobody_leads': {
        const actors = [...this.#actors.values()].filter((one) => one.election === election);
        return this.#during(step.leases!, 'no candidate leads', () => !actors.some((one) => one.candidate?.isLeader));
      }
      case 'expect_state':
        return this.#until(`the state is ${step.state}`, () => this.#candidate(step).state === step.state);
      case 'expect_seen':
        return this.#until('it sees the leader', () => (this.#candidate(step).leader?.name ?? null) === step.leader);
      case 'expect_warning':
        return this.#until(`there is ${step.warning}`, () => this.#actor(step).warnings.has(step.warning!));
      case 'expect_leader':
        return this.#until(`${step.leader} is read`, async () => {
          const leader = await this.ownStore.leader(election).catch(() => undefined);
          return leader !== undefined && fits(leader, step);
        });
      case 'expect_observed': {
        const seen = this.#seen.get(step.observer!)!;
        return this.#until(`${step.leader} is observed`, () => {
          const place = seen.findIndex(({ leader }) => fits(leader, step));
          seen.splice(0, place + 1);
          return place >= 0;
        });
      }
      default:
        throw new Error('there is no such step');
    }
  }

  async #campaign(actor: Actor, step: Step): Promise<void> {
    const connection = connectionOf(actor);
    let store = this.#stores.get(connection);
    if (store === undefined) {
      store = await connect(this.prepared.connections[connection]!);
      this.#stores.set(connection, store);
    }
    const settings = settingsOf(actor.id, actor.part, this.scenario.lease_ms);
    try {
      actor.begin(await store.campaign(actor.election, settings));
    } catch (error) {
      same('the error', codeOf(error as IncumbentError), [step.error ?? null]);
      const named = step.names?.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      const { message } = error as Error;
      if (step.names !== undefined && ![step.names, named!].some((name) => message.includes(name))) {
        throw new Error(`the error does not name ${step.names}: ${message}`);
      }
      return;
    }
    same('the error', null, [step.error ?? null]);
  }

  #observe(observer: string, election: string): void {
    const seen: Observation[] = [];
    this.#seen.set(observer, seen);
    const read = async (): Promise<void> => {
      for await (const one of this.ownStore.observe(election)) {
        seen.push(one);
      }
    };
    // An observer that fails sees nothing, and then the step fails too.
    read().catch(() => undefined);
  }

  async #next(actor: Actor, type: Told['type']): Promise<Told> {
    await this.#until(`${actor.id} receives ${type}`, () => actor.log.length > actor.read);
    const told = actor.log[actor.read]!;
    same(`what ${actor.id} receives`, told.type, [type]);
    actor.read += 1;
    return told;
  }

  #inTime({ not_before: notBefore, before }: Step, { at }: Told): void {
    const instant = ({ mark, leases }: Moment): number => this.#marks.get(mark)! + leases * this.scenario.lease_ms;
    if (notBefore !== undefined && at < instant(notBefore)) {
      throw new Error(`it arrived ${instant(notBefore) - at} ms too soon`);
    }
    if (before !== undefined && at >= instant(before)) {
      throw new Error(`it arrived ${at - instant(before)} ms too late`);
    }
  }

  async #until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const limit = performance.now() + TIMEOUT_MS;
    while (!(await isSo())) {
      this.check();
      if (performance.now() > limit) {
        throw new Error(`waited for: ${what}`);
      }
      await pause();
    }
  }

  /** Checks that something does not happen, for as long as the scenario says. */
  async #during(leases: number, what: string, isSo: () => boolean): Promise<void> {
    const end = performance.now() + leases * this.scenario.lease_ms;
    do {
      if (!isSo()) {
        throw new Error(`this does not hold: ${what}`);
      }
      await pause();
    } while (performance.now() < end);
  }

  async #soon<T>(promise: Promise<T>): Promise<T> {
    const outcome: { value?: T; isThere: boolean } = { isThere: false };
    void promise.then((value) => Object.assign(outcome, { value, isThere: true }));
    await this.#until('the call returns', () => outcome.isThere);
    return outcome.value as T;
  }

  /** Checks that no two lead. */
  look(): void {
    const start = performance.now();
    const actors = [...new Set(this.#actors.values())];
    for (const one of actors.filter((actor) => actor.leads)) {
      const other = actors.find((it) => it !== one && it.election === one.election && it.leads);
      if (other !== undefined && one.leads && performance.now() - start < CLOSE_MS) {
        this.#twoLead ??= `${one.id} and ${other.id} both lead`;
      }
    }
  }

  #won(election: string, token: string): void {
    const before = this.#tokens.get(election);
    if (before !== undefined && before >= token) {
      this.#twoLead ??= `the token ${token} came after ${before}`;
    }
    this.#tokens.set(election, token);
  }

  check(): void {
    if (this.#twoLead !== undefined) {
      throw new Broken(this.#twoLead);
    }
    for (const { broken } of this.#actors.values()) {
      if (broken !== undefined) {
        throw broken;
      }
    }
  }

  /** Checks that calls return, that no event is unread, and that the stores close without a broken rule. */
  async end(): Promise<void> {
    for (const actor of new Set(this.#actors.values())) {
      for (const call of actor.calls) {
        same(`what a call of ${actor.id} returned with`, codeOf(await this.#soon(call)), [null]);
      }
      // A candidate leads before its event is read, so a count in between would miss the event.
      await this.#until(`${actor.id} receives its term`, () => {
        const token = actor.candidate?.term?.token;
        return token === undefined || actor.log.some((one) => one.type === 'won' && one.token === token);
      });
      same(`what ${actor.id} received besides`, actor.log.slice(actor.read).length, [0]);
    }
    this.check();
    await this.close();
    this.check();
  }

  /** Closes the stores. A store that is left open would keep dialling a port that another scenario may get, and campaign there. */
  async close(): Promise<void> {
    for (const store of this.#stores.values()) {
      await this.#soon(store.close());
    }
    await Promise.all(this.#killed);
  }

  /** Closes the store of a connection that is dead already: nothing that it sends arrives. */
  #closeKilled(connection: string): void {
    const store = this.#stores.get(connection);
    this.#stores.delete(connection);
    if (store !== undefined) {
      this.#killed.push(store.close().catch(() => undefined));
    }
  }

  /** The reports so far, in order, and the present state of the candidates. */
  story(): string {
    const actors = [...new Set(this.#actors.values())];
    const reported = actors
      .flatMap(({ id, log }) => log.map((one) => ({ id, ...one })))
      .sort((a, b) => a.at - b.at)
      .map(({ at, id, type, reason, token }) => `${at.toFixed(0)} ${id} ${type} ${reason ?? ''} ${token}`);
    const now = performance.now().toFixed(0);
    const states = actors.map(({ id, candidate, warnings }) => {
      const { state, leader, term } = candidate ?? {};
      const left = term ? `, ${term.remainingMs} ms of ${term.token} left` : '';
      return `${now} ${id} is ${state}, leader ${leader?.name}${left}, warned of ${[...warnings].join(' ') || 'nothing'}`;
    });
    return [...reported, ...states].join('\n');
  }

  #actor(step: Step): Actor {
    return this.#actors.get(step.candidate!)!;
  }

  #candidate(step: Step): NonNullable<Actor['candidate']> {
    const { candidate } = this.#actor(step);
    if (candidate === undefined) {
      throw new Error(`${step.candidate} does not campaign`);
    }
    return candidate;
  }
}

function connectionOf(actor: Actor): string {
  return actor.part.connection ?? actor.id;
}

function codeOf(error: IncumbentError | null): string | null {
  return error === null ? null : (error.code ?? String(error));
}

function fits(leader: { name: string; metadata: Readonly<Record<string, string>> } | null, step: Step): boolean {
  const wanted = Object.entries(step.metadata ?? {});
  return (leader?.name ?? null) === step.leader && wanted.every(([name, value]) => leader?.metadata[name] === value);
}

function same(what: string, seen: unknown, wanted: unknown[]): void {
  if (!wanted.includes(seen)) {
    throw new Error(`${what} is ${String(seen)}, and should be ${wanted.filter((one) => one !== undefined).join(' or ')}`);
  }
}

/** Waits for a turn of the event loop: some conditions have no event, such as a state or the content of the store. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}
