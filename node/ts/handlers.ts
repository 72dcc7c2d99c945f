/** Listeners of a candidate: called one after another, and unable to delay an election. */

import { Work } from './inside.js';
import type { Hold } from './native.js';
import type { HandlerSettings } from './settings.js';
import type { Stream } from './stream.js';
import { Term } from './term.js';
import type { Event, Reason, Warning } from './types.js';

/** An event, and for a win the hold of its term: a leader that leaves before the win is read still waits. */
export interface Held {
  event: Event;
  hold: Hold | undefined;
}

// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as the emitter declares them
type Listener = Function;

/** Calls the listeners of a candidate. */
export class Handlers {
  readonly #events: () => Stream<Held>;
  readonly #hold: (term: Term) => Hold;
  readonly #listeners: (name: string) => Listener[];
  readonly #self: object;
  readonly #settings: HandlerSettings;
  #isRunning = false;

  constructor(
    events: () => Stream<Held>,
    hold: (term: Term) => Hold,
    listeners: (name: string) => Listener[],
    self: object,
    settings: HandlerSettings,
  ) {
    this.#events = events;
    this.#hold = hold;
    this.#listeners = listeners;
    this.#self = self;
    this.#settings = settings;
  }

  /** Begins to call listeners, when the first is added. */
  start(): void {
    if (this.#isRunning) {
      return;
    }
    this.#isRunning = true;
    let events: Stream<Held>;
    try {
      events = this.#events();
    } catch (error) {
      this.report(error);
      return;
    }
    this.#run(events).catch((error: unknown) => this.report(error));
  }

  /** Reports an error that application code threw. */
  report(error: unknown): void {
    const shown = error instanceof Error ? error : new Error(String(error));
    const warning: Warning = {
      code: 'HANDLER_FAILED',
      message: `a handler failed: ${shown.message}`,
      cause: error,
    };
    if (this.#listeners('warning').length === 0) {
      process.emitWarning(shown);
    } else {
      this.#call('warning', [warning], (second) => process.emitWarning(second as Error));
    }
  }

  async #run(events: Stream<Held>): Promise<void> {
    // The work of a term with a listener of `draining`: a drain waits until that is done.
    let work: Work | undefined;
    let reported = 0;
    for await (const { event, hold } of events) {
      const { missed } = events;
      if (missed > reported) {
        this.#call('missed', [missed - reported]);
        reported = missed;
      }
      switch (event.type) {
        case 'won':
          work?.finish();
          work = new Work();
          work.begin(hold ?? this.#hold(event.term), event.term);
          this.#call('won', [event.term], this.#ending(event.term));
          if (this.#listeners('draining').length === 0 && this.#settings.drain === undefined) {
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
        case 'stateChanged':
          this.#call('stateChanged', [event.state]);
          break;
        case 'warning':
          this.#call('warning', [event.warning]);
          break;
      }
    }
    work?.finish();
  }

  #drain(term: Term, reason: Reason, held: Work | undefined): void {
    const work = new Work();
    work.begin(this.#hold(term), term);
    held?.finish();
    const { drain } = this.#settings;
    const report = this.#ending(term);
    const pending = work.run(() => {
      const called = this.#call('draining', [term, reason], report);
      const deadline = performance.now() + (Term.nativeOf(term).drainRemainingMs ?? 0);
      return drain === undefined ? called : [...called, ...this.#apply([drain], [term, deadline], report)];
    });
    // The pending promises never reject.
    void Promise.all(pending).then(() => {
      work.finish();
      if (drain !== undefined) {
        term.drained();
      }
    });
  }

  /** Returns the handler of an error in a listener for that term: it reports the error, and may end the term. */
  #ending(term: Term): (error: unknown) => void {
    return (error) => {
      if (this.#settings.errorEndsTerm) {
        term.fail();
      }
      this.report(error);
    };
  }

  /** Calls the listeners of a name; returns their promises. */
  #call(name: string, values: unknown[], report = (error: unknown) => this.report(error)): Promise<void>[] {
    return this.#apply(this.#listeners(name), values, report);
  }

  #apply(listeners: Listener[], values: unknown[], report: (error: unknown) => void): Promise<void>[] {
    const pending: Promise<void>[] = [];
    for (const listener of listeners) {
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
