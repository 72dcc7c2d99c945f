/**
 * For NestJS: a module whose candidate campaigns while the application runs, and methods that only the leader runs. It
 * needs `@nestjs/common`, which an application of Nest has; nothing else of this package does.
 *
 * @module nest
 */

import { Inject, Module, type DynamicModule, type FactoryProvider, type ModuleMetadata } from '@nestjs/common';

import { Candidate } from './candidate.js';
import { leaderOnly, type LeaderOnlyOptions } from './leader-only.js';
import { plain, text, type CampaignSettings, type StoreSettings } from './settings.js';
import { Store, connect } from './store.js';

/** The settings of the candidate of an application: those of its campaign, and its store. */
export interface NestSettings extends CampaignSettings {
  /** The URL of the store, which is then opened and closed with the application; or a store that is open. */
  store: string | Store;
  /** The settings with which the store is opened. `timeout` limits the start of an application whose store does not answer. */
  storeSettings?: StoreSettings | undefined;
}

/** An election whose settings come from a function, which may have other providers injected. */
export interface NestAsyncSettings extends Pick<ModuleMetadata, 'imports'> {
  /** The key of the election. */
  election: string;
  /** The providers that the function gets. */
  inject?: FactoryProvider['inject'];
  /** Returns the settings. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as Nest has it: what is injected has no types
  useFactory: (...injected: any[]) => NestSettings | Promise<NestSettings>;
}

/** Returns the token of the candidate in the election of that key: its class, where no key is given. */
function candidateToken(election: string | undefined): string | typeof Candidate {
  return election === undefined ? Candidate : `incumbent candidate ${text(election, 'election')}`;
}

/** Injects the candidate in the election of that key; where an application has one election, its type is enough. */
export function InjectCandidate(election?: string): PropertyDecorator & ParameterDecorator {
  return Inject(candidateToken(election));
}

/** The metadata of a function, as Nest and its libraries keep it. */
interface Metadata {
  getMetadataKeys(target: object): unknown[];
  getMetadata(key: unknown, target: object): unknown;
  defineMetadata(key: unknown, value: unknown, target: object): void;
}

/**
 * Makes a method of a provider or a controller run only where the application leads: elsewhere a call rejects with a
 * `NotLeaderError`, or with `otherwise: 'skip'` does nothing. See {@link leaderOnly}: the drain waits for the call, and
 * `currentTerm()` has the term. `election` is needed where an application has several.
 */
export function LeaderOnly(
  settings: LeaderOnlyOptions & { election?: string | undefined } = {},
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- any method that waits
): (target: object, name: string | symbol, descriptor: TypedPropertyDescriptor<(...args: any[]) => Promise<any>>) => void {
  const { election, ...options } = settings;
  const token = candidateToken(election);
  const place = Symbol.for(String(typeof token === 'string' ? token : 'incumbent candidate'));
  return (target, _, descriptor) => {
    const method = descriptor.value;
    // Checks the arguments where the decorator is written.
    leaderOnly(() => undefined, method as () => Promise<unknown>, options);
    Inject(token)(target, place);
    const guarded = function (this: { [place]?: Candidate }, ...args: unknown[]): Promise<unknown> {
      return leaderOnly(() => this[place], method as (...args: unknown[]) => Promise<unknown>, options).apply(this, args);
    };
    Object.defineProperty(guarded, 'name', { value: method?.name });
    // Copies what decorators below this one left, such as a scheduler's times.
    const metadata = Reflect as unknown as Metadata;
    for (const key of metadata.getMetadataKeys(method as object)) {
      metadata.defineMetadata(key, metadata.getMetadata(key, method as object), guarded);
    }
    descriptor.value = guarded;
  };
}

/** A candidate, and its store where the application opened that; closed with the application. */
class Campaign {
  readonly candidate: Candidate;
  readonly #own: Store | undefined;

  private constructor(candidate: Candidate, own: Store | undefined) {
    this.candidate = candidate;
    this.#own = own;
  }

  static async begin(election: string, settings: NestSettings): Promise<Campaign> {
    const { store, storeSettings, ...campaign } = plain(settings, 'the module') as unknown as NestSettings;
    const own = store instanceof Store ? undefined : await connect(store, storeSettings);
    try {
      return new Campaign(await (own ?? (store as Store)).campaign(election, campaign), own);
    } catch (error) {
      await own?.close();
      throw error;
    }
  }

  /** Called by Nest as the first step of a shutdown, and waited for: the work drains. */
  async onModuleDestroy(): Promise<void> {
    await this.candidate.close();
    await this.#own?.close();
  }
}

/**
 * The module: its {@link Candidate} campaigns from the start of the application until its shutdown, and can be injected
 * everywhere. Call `app.enableShutdownHooks()`, so that SIGTERM and SIGINT are a shutdown.
 *
 * ```ts
 * @Module({ imports: [IncumbentModule.register('newsletter', { store: 'nats://localhost:4222/ELECTIONS' })] })
 * export class AppModule {}
 * ```
 */
export class IncumbentModule {
  /** A candidate in the election of that key, with these settings. */
  static register(election: string, settings: NestSettings): DynamicModule {
    return IncumbentModule.registerAsync({ election, useFactory: () => settings });
  }

  /** A candidate whose settings come from a function, such as one that gets the configuration of the application. */
  static registerAsync({ election, imports = [], inject = [], useFactory }: NestAsyncSettings): DynamicModule {
    const token = candidateToken(text(election, 'election'));
    const campaign = `incumbent campaign ${election}`;
    return {
      module: IncumbentModule,
      global: true,
      imports,
      providers: [
        {
          provide: campaign,
          inject,
          useFactory: async (...injected: unknown[]) => Campaign.begin(election, await useFactory(...injected)),
        },
        { provide: token, inject: [campaign], useFactory: ({ candidate }: Campaign) => candidate },
        { provide: Candidate, useExisting: token },
      ],
      exports: [token, Candidate],
    };
  }
}

Module({})(IncumbentModule);
