/** A store that is open for elections. */

import { isMainThread } from 'node:worker_threads';

import { addon, lazily } from './addon.js';
import { answer, loopProbe, type WaitLimits } from './notifier.js';
import { Candidate } from './candidate.js';
import { answerOf } from './errors.js';
import { isInside } from './inside.js';
import type {
  Candidate as NativeCandidate,
  CandidateRow,
  ElectionRow,
  Feed,
  InitRow,
  LeaderRow,
  Operation,
  Store as NativeStore,
} from './native.js';
import { warnByDefault } from './log.js';
import {
  handlersOf,
  limitsIn,
  plain,
  text,
  type CampaignSettings,
  type InitSettings,
  type StoreSettings,
} from './settings.js';
import { Stream } from './stream.js';
import { leaderOf, type CandidateInfo, type ElectionInfo, type InitReport, type Leader, type Observation } from './types.js';

/** The time limit for the release of all keys when the process exits, in milliseconds. */
const LIMIT_MS = 3000;

/** The stores that this build can open, each by the scheme of its URLs. Kafka is built in on request. */
export const STORES: readonly string[] = lazily(() => addon.stores());

/**
 * A store that is open for elections, made by {@link connect}. It has one connection and one watch for all its
 * elections. Being open does not keep the process alive; a campaign does.
 */
export class Store implements AsyncDisposable {
  readonly #native: NativeStore;

  private constructor(native: NativeStore) {
    this.#native = native;
  }

  /** @internal */
  static of(native: NativeStore): Store {
    leaveInTime();
    return new Store(native);
  }

  /**
   * Campaigns in the election of that key. If the store does not answer yet, the candidate is created anyway, and
   * campaigns as soon as the store answers. The settings `signal` and `timeout` limit the wait for the candidate, not
   * its campaign.
   *
   * Rejects with {@link InvalidSettingError}, {@link InvalidNameError}, {@link PermissionDeniedError}, {@link BrokenError},
   * {@link ClosedError}, and with `failFast` {@link StoreUnavailableError}.
   */
  async campaign(election: string, settings?: CampaignSettings): Promise<Candidate> {
    const key = text(election, 'election');
    const given = plain(settings, 'a campaign');
    const limits = limitsIn(given);
    const handlers = handlersOf(given);
    const operation = answerOf<Operation>(this.#native.campaign(key, given, loopProbe()));
    return Candidate.of(await answer<NativeCandidate>(operation, { what: 'the start of the campaign', ...limits }), true, handlers);
  }

  /**
   * Watches the election of that key without taking part, beginning with the current leader. It ends when the store is
   * closed.
   */
  observe(election: string): Stream<Observation> {
    const key = text(election, 'election');
    return Stream.opening(
      () => answer<Feed>(this.#native.observe(key)),
      ({ observation }) => ({
        election: observation?.election ?? key,
        leader: leaderOf(observation?.leader),
        ageMs: observation?.ageMs ?? 0,
      }),
    );
  }

  /** Returns the election's current leader, read from the leader of the store; null if there is none. */
  async leader(election: string): Promise<Leader | null> {
    return leaderOf(await answer<LeaderRow | null>(this.#native.leader(text(election, 'election'))));
  }

  /** Returns all elections of the store, by key. */
  async list(): Promise<ElectionInfo[]> {
    const rows = await answer<ElectionRow[]>(this.#native.list());
    return rows.map(({ election, leader }) => ({ election, leader: leaderOf(leader) }));
  }

  /**
   * Returns the candidates of that election on all connections to the store: the leader and the waiting candidates,
   * oldest first; null if the store cannot find out, or does not permit the query.
   *
   * Waiting candidates write nothing to the store, so this asks the other connections: on NATS that takes a quarter of a
   * second. Candidates of other software are not found.
   */
  async candidates(election: string): Promise<CandidateInfo[] | null> {
    const rows = await answer<CandidateRow[] | null>(this.#native.candidates(text(election, 'election')));
    return rows?.map((row) => ({ ...row, nonce: row.nonce ?? null })) ?? null;
  }

  /** Closes every candidate cleanly, and then the store. Closing twice is not an error. */
  async close(): Promise<void> {
    await answer(this.#native.close(isInside()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Opens the store at `url`:
 *
 * - `nats://host:4222/BUCKET`: a NATS JetStream key-value bucket; also `tls://`, `ws://`, several hosts
 * - `sqlite:elections.db`: a file, for the processes of one machine
 * - `memory:` and `memory:NAME`: for one process, and for tests
 *
 * A parameter of the URL can also be a setting. The call waits for a store that does not answer: `timeout` and `signal`
 * limit that wait. Rejects with {@link InvalidUrlError}, {@link InvalidSettingError}, {@link AuthenticationError},
 * {@link NotFoundError}, {@link UnsafeStoreError}, {@link UnsupportedError}, {@link PermissionDeniedError}, {@link
 * BrokenError}, {@link StoreUnavailableError}, {@link TimedOutError}.
 */
export async function connect(url: string, settings?: StoreSettings): Promise<Store> {
  const { address, given, limits } = opening(url, settings);
  warnByDefault();
  const operation = answerOf<Operation>(addon.openStore(address, given));
  return Store.of(await answer<NativeStore>(operation, { what: 'opening the store', ...limits }));
}

/**
 * Prepares the store at `url` for elections, as `incumbent init` does on the command line: creates the bucket, file,
 * prefix or topic, or checks an existing one. A second call changes nothing.
 *
 * In a new store no candidate leads before the store is one lease old, unless the setting `new` states that no election
 * was ever held there. A store that does not answer is an error.
 *
 * Rejects with {@link InvalidUrlError}, {@link InvalidSettingError}, {@link UnsafeStoreError} (an existing bucket
 * differs from the settings, without `update`), {@link UnsupportedError}, {@link NotFoundError} (a folder), {@link
 * AuthenticationError}, {@link PermissionDeniedError}, {@link BrokenError}, {@link StoreUnavailableError}, {@link
 * TimedOutError}.
 */
export async function init(url: string, settings?: InitSettings): Promise<InitReport> {
  const address = text(url, 'url');
  const given = plain(settings, 'the preparation of a store');
  const limits = limitsIn(given);
  const operation = answerOf<Operation>(addon.initStore(address, given));
  const row = await answer<InitRow>(operation, { what: 'preparing the store', ...limits });
  return { ...row, leaseMs: row.leaseMs ?? null, topic: row.topic ?? null };
}

/** Checks the settings of a store as far as JavaScript can. */
export function opening(
  url: string,
  settings: StoreSettings | undefined,
): { address: string; given: Record<string, unknown>; limits: WaitLimits } {
  const address = text(url, 'url');
  const given = plain(settings, 'a store');
  const limits = limitsIn(given);
  return { address, given, limits };
}

let isLeaving = false;

/** Releases all keys when the process exits; a worker thread that exits drops its own candidates instead. */
function leaveInTime(): void {
  if (isMainThread && !isLeaving) {
    isLeaving = true;
    process.once('exit', () => addon.shutDown(LIMIT_MS));
  }
}
