/** A candidate of a scenario, and its log of events. */

import type { CampaignSettings, Candidate, Event, Hold, IncumbentError, Reason, Term } from '../../dist/index.js';

export interface Told {
  readonly type: 'won' | 'draining' | 'lost';
  readonly at: number;
  readonly token: string;
  readonly reason?: Reason;
  readonly drained?: boolean;
}

export interface Part {
  readonly name?: string;
  readonly election?: string;
  readonly connection?: string;
  readonly works?: boolean;
  readonly options?: Record<string, unknown>;
}

/** The settings of a scenario's candidate, in this package's names. */
export function settingsOf(id: string, part: Part, leaseMs: number): CampaignSettings {
  const settings: Record<string, unknown> = { name: part.name ?? id, preset: 'fast', lease: leaseMs, splay: 0 };
  for (const [name, value] of Object.entries(part.options ?? {})) {
    const plain = name.replace(/_ms$/, '').replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const { kind, ms } = (value ?? {}) as { kind?: string; ms?: number };
    settings[plain] = plain === 'winDelay' ? (kind === 'fixed' ? ms : kind) : value;
  }
  return settings;
}

/** A broken rule, one of those that hold in every scenario. */
export class Broken extends Error {}

export class Actor {
  readonly log: Told[] = [];
  readonly warnings = new Set<string>();
  readonly calls: Promise<IncumbentError | null>[] = [];
  /** The number of log entries that steps have read. */
  read = 0;
  candidate: Candidate | undefined;
  /** The first rule that it saw broken. */
  broken: Broken | undefined;
  /** A candidate that was killed is treated as the leader until then. */
  ghostUntil = 0;
  #hold: Hold | undefined;
  #stop: (() => void) | undefined;

  constructor(
    readonly id: string,
    readonly part: Part,
    readonly election: string,
    readonly wins: (token: string) => void,
  ) {}

  get leads(): boolean {
    return this.candidate?.isLeader ?? performance.now() < this.ghostUntil;
  }

  begin(candidate: Candidate): void {
    this.candidate = candidate;
    const events = candidate.events();
    this.#stop = () => void events.return();
    void this.#read(events).catch((error: Error) => (this.broken ??= new Broken(String(error))));
  }

  call(promise: Promise<void>): void {
    this.calls.push(promise.then(() => null, (error: IncumbentError) => error));
  }

  finish(): void {
    this.#hold?.release();
    this.#hold = undefined;
  }

  /** Marks it as killed: nothing polls it or reads its events any more. */
  kill(): void {
    this.#stop?.();
    this.ghostUntil = performance.now() + (this.candidate?.term?.remainingMs ?? 0);
    this.candidate = undefined;
    this.calls.length = 0;
    this.log.length = this.read = 0;
    this.finish();
  }

  async #read(events: AsyncIterableIterator<Event>): Promise<void> {
    let term: Term | undefined;
    let drained = false;
    for await (const event of events) {
      const at = performance.now();
      if (event.type === 'warning') {
        this.warnings.add(event.warning.code);
      }
      if (event.type === 'won') {
        this.#must(term === undefined, 'won twice');
        ({ term } = event);
        drained = false;
        this.log.push({ type: 'won', at, token: term.token });
        this.wins(term.token);
        if (this.part.works === true) {
          this.#hold = term.hold();
        }
      } else if (event.type === 'draining') {
        this.#must(event.term.token === term?.token && !drained, 'draining of no term, or twice');
        drained = true;
        this.log.push({ type: 'draining', at, token: event.term.token, reason: event.reason });
      } else if (event.type === 'lost') {
        this.#must(event.term.token === term?.token, 'lost what it did not have');
        this.#must(!event.term.isCurrent() && event.term.signal.aborted, 'lost a term that is current');
        this.log.push({ type: 'lost', at, token: event.term.token, reason: event.reason, drained });
        term = undefined;
        this.finish();
      }
    }
  }

  #must(isSo: boolean, otherwise: string): void {
    if (!isSo) {
      this.broken ??= new Broken(`${this.id}: ${otherwise}`);
    }
  }
}
