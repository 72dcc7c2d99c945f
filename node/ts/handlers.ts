/** Listeners of a candidate: called one after another, and never in anybody's way. */

import { Work } from './inside.js';
import type { Hold } from './native.js';
import type { Stream } from './stream.js';
import type { Term } from './term.js';
import type { Event, Leader, Reason, State, Trouble } from './types.js';

/** What a candidate emits, and with which arguments. */
export interface CandidateEvents {
  /** This candidate leads, from now until `lost`. */
  won: [term: Term];
  /** This leader leaves of its own will; the term goes on until what the listeners return is settled. */
  draining: [term: Term, reason: Reason];
  /** This candidate leads no more. Told exactly once for every `won`. */
  lost: [term: Term, reason: Reason];
  /** The seat is known to be held by somebody else than before, or by nobody. */
  leaderChanged: [leader: Leader | null];
  /** The campaign entered another state. */
  campaigned: [state: State];
  /** Something a person should look at. */
  trouble: [trouble: Trouble];
}

// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as the emitter has them
type Listener = Function;

/** Calls the listeners of a candidate. */
export class Handlers {
  readonly #events: () => Stream<Event>;
  readonly #hold: (term: Term) => Hold;
  readonly #listeners: (name: string) => Listener[];
  readonly #self: object;
  #isRunning = false;

  constructor(
    events: () => Stream<Event>,
    hold: (term: Term) => Hold,
    listeners: (name: string) => Listener[],
    self: object,
  ) {
    this.#events = events;
    this.#hold = hold;
    this.#listeners = listeners;
    this.#self = self;
  }

  /** Begins to call them, with the first of them. */
  start(): void {
    if (this.#isRunning) {
      return;
    }
    this.#isRunning = true;
    let events: Stream<Event>;
    try {
      events = this.#events();
    } catch (error) {
      this.report(error);
      return;
    }
    this.#run(events).catch((error: unknown) => this.report(error));
  }

  /** Something that a program of the user's threw. */
  report(error: unknown): void {
    const shown = error instanceof Error ? error : new Error(String(error));
    const trouble: Trouble = {
      code: 'HANDLER_FAILED',
      message: `a handler failed: ${shown.message}`,
      cause: error,
    };
    if (this.#listeners('trouble').length === 0) {
      process.emitWarning(shown);
    } else {
      this.#call('trouble', [trouble], (second) => process.emitWarning(second as Error));
    }
  }

  async #run(events: Stream<Event>): Promise<void> {
    // With a listener of it, a drain waits until that has been called and is done.
    let work: Work | undefined;
    for await (const event of events) {
      switch (event.type) {
        case 'won':
          work?.finish();
          work = new Work();
          work.begin(this.#hold(event.term), event.term.token);
          this.#call('won', [event.term]);
          if (this.#listeners('draining').length === 0) {
            work.finish();
          }
          break;
        case 'draining':
          this.#drain(event.term, event.reason, work);
          break;
        case 'lost':
          work?.finish();
          this.#call('lost', [event.term, event.reason]);
          break;
        case 'leaderChanged':
          this.#call('leaderChanged', [event.leader]);
          break;
        case 'campaigned':
          this.#call('campaigned', [event.state]);
          break;
        case 'trouble':
          this.#call('trouble', [event.trouble]);
          break;
      }
    }
    work?.finish();
  }

  #drain(term: Term, reason: Reason, held: Work | undefined): void {
    const work = new Work();
    work.begin(this.#hold(term), term.token);
    held?.finish();
    const pending = work.run(() => this.#call('draining', [term, reason]));
    // What is pending never rejects.
    void Promise.all(pending).then(() => work.finish());
  }

  /** Calls the listeners of a name; what they have promised. */
  #call(name: string, values: unknown[], report = (error: unknown) => this.report(error)): Promise<void>[] {
    const pending: Promise<void>[] = [];
    for (const listener of this.#listeners(name)) {
      try {
        const result: unknown = Reflect.apply(listener, this.#self, values);
        if (typeof (result as PromiseLike<unknown> | null | undefined)?.then === 'function') {
          pending.push(Promise.resolve(result as PromiseLike<unknown>).then(() => undefined, report));
        }
      } catch (error) {
        report(error);
      }
    }
    return pending;
  }
}
