/** A feed as an async iterator. */

import { keepAlive, whenReady } from './notifier.js';
import { errorOf } from './errors.js';
import type { Feed, Item } from './native.js';

interface Waiter<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: Error): void;
}

/**
 * A stream of items, in order, as an async iterator. Slow readers delay nothing: a reader that falls 1024 items behind
 * loses the least important items, and `missed` counts them.
 */
export class Stream<T> implements AsyncIterableIterator<T>, AsyncDisposable {
  readonly #open: () => Feed | Promise<Feed>;
  readonly #convert: (item: Item) => T;
  readonly #keepsAlive: boolean;
  readonly #waiters: Waiter<T>[] = [];
  #feed: Feed | undefined;
  #opening: Promise<void> | undefined;
  #isNotified = false;
  #isClosed = false;
  #letGo: (() => void) | undefined;

  private constructor(open: () => Feed | Promise<Feed>, convert: (item: Item) => T, keepsAlive: boolean) {
    this.#open = open;
    this.#convert = convert;
    this.#keepsAlive = keepsAlive;
  }

  /** @internal */
  static of<T>(feed: Feed, convert: (item: Item) => T, keepsAlive: boolean): Stream<T> {
    const stream = new Stream(() => feed, convert, keepsAlive);
    stream.#feed = feed;
    return stream;
  }

  /** @internal */
  static opening<T>(open: () => Promise<Feed>, convert: (item: Item) => T): Stream<T> {
    return new Stream(open, convert, true);
  }

  /** The number of items that were dropped because they were not read in time. */
  get missed(): number {
    return this.#feed?.missed ?? 0;
  }

  /** Waits for the next item. */
  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      if (this.#keepsAlive && !this.#isClosed) {
        this.#letGo ??= keepAlive();
      }
      this.#serve();
    });
  }

  /** Ends the iteration: nothing more is read, and waiters learn that it is over. */
  return(): Promise<IteratorReturnResult<undefined>> {
    this.#isClosed = true;
    this.#feed?.close();
    this.#finish();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #serve(): void {
    while (this.#waiters.length > 0 && !this.#isClosed) {
      if (this.#feed === undefined) {
        this.#start();
        return;
      }
      const item = this.#feed.take();
      if (item === null) {
        if (this.#isNotified) {
          return;
        }
        const serve = (): void => {
          this.#isNotified = false;
          this.#serve();
        };
        this.#isNotified = whenReady(this.#feed, serve) !== null;
        continue;
      }
      if (item.failure !== undefined) {
        this.#waiters.shift()?.reject(errorOf(item.failure));
      } else if (item.event === undefined && item.observation === undefined) {
        this.#isClosed = true;
      } else {
        this.#waiters.shift()?.resolve({ done: false, value: this.#convert(item) });
      }
    }
    if (this.#isClosed) {
      this.#finish();
    } else {
      this.#letGo?.();
      this.#letGo = undefined;
    }
  }

  #start(): void {
    this.#opening ??= Promise.resolve(this.#open()).then(
      (feed) => {
        if (this.#isClosed) {
          feed.close();
        }
        this.#feed = feed;
        this.#serve();
      },
      (error: Error) => {
        // A later call tries again.
        this.#opening = undefined;
        this.#waiters.splice(0).forEach((waiter) => waiter.reject(error));
        this.#serve();
      },
    );
  }

  #finish(): void {
    this.#waiters.splice(0).forEach((waiter) => waiter.resolve({ done: true, value: undefined }));
    this.#letGo?.();
    this.#letGo = undefined;
  }
}
