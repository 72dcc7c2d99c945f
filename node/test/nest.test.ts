/** The module for NestJS, in applications of Nest. */

import 'reflect-metadata';
import { Injectable, Module, SetMetadata, type DynamicModule, type INestApplicationContext, type Type } from '@nestjs/common';
import { NestFactory, Reflector } from '@nestjs/core';
import { expect, onTestFinished, test } from 'vitest';

import { Candidate, NotLeaderError, connect, currentTerm } from '../dist/index.js';
import { IncumbentModule, InjectCandidate, LeaderOnly } from '../dist/nest.js';
import { until } from '../dist/testing.js';
import { FAST } from './support.js';

let stores = 0;

/** Returns the URL of a store that applications of this process share. */
const shared = (): string => `memory:nest-${(stores += 1)}`;

/** Applies a decorator to a method, as the syntax of TypeScript does. */
function decorate(type: Type, name: string, ...decorators: ReturnType<typeof LeaderOnly>[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, name)!;
  // The last is applied first.
  decorators.reverse().forEach((decorator) => decorator(type.prototype, name, descriptor));
  Object.defineProperty(type.prototype, name, descriptor);
}

async function started(imports: DynamicModule[], providers: Type[]): Promise<INestApplicationContext> {
  class App {}
  Module({ imports, providers })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  onTestFinished(() => app.close());
  return app;
}

/** Returns a provider with methods for the leader; `gate` is what the work waits for. */
function newsletter(gate: Promise<void> = Promise.resolve()) {
  class Newsletter {
    readonly sent: unknown[] = [];

    async send(one: string): Promise<string> {
      this.sent.push([one, currentTerm()?.election]);
      await gate;
      return `sent ${one}`;
    }

    async remind(): Promise<string> {
      return 'reminded';
    }
  }
  decorate(Newsletter, 'send', LeaderOnly());
  decorate(Newsletter, 'remind', LeaderOnly({ otherwise: 'skip' }));
  Injectable()(Newsletter);
  return Newsletter;
}

test('a method for the leader runs where the application leads, and elsewhere it is refused or skipped', async () => {
  const store = shared();
  const [First, Second] = [newsletter(), newsletter()];
  const first = await started([IncumbentModule.register('mails', { store, ...FAST, name: 'first' })], [First]);
  await first.get(Candidate).nextTerm();
  const second = await started([IncumbentModule.register('mails', { store, ...FAST, name: 'second' })], [Second]);
  expect(await first.get(First).send('hello')).toBe('sent hello');
  expect([first.get(First).sent, await first.get(First).remind()]).toEqual([[['hello', 'mails']], 'reminded']);
  await expect(second.get(Second).send('hello')).rejects.toBeInstanceOf(NotLeaderError);
  expect([await second.get(Second).remind(), second.get(Second).sent]).toEqual([undefined, []]);
  await first.close();
  await second.get(Candidate).nextTerm();
  expect(await second.get(Second).send('again')).toBe('sent again');
});

test('a shutdown waits for the methods that run, and then another application leads', async () => {
  const store = shared();
  let finish = (): void => undefined;
  const Mails = newsletter(new Promise((resolve) => (finish = resolve)));
  const app = await started([IncumbentModule.register('mails', { store, ...FAST, drain: 60_000 })], [Mails]);
  const term = await app.get(Candidate).nextTerm();
  const sent = app.get(Mails).send('the last');
  const closed = app.close();
  await term.draining();
  expect(term.isCurrent()).toBe(true);
  finish();
  await closed;
  expect([await sent, term.reason]).toEqual(['sent the last', 'CLOSED']);
});

test('an application has several elections, by their keys, with settings from other providers', async () => {
  await using store = await connect('memory:');
  class Config {
    readonly lease = 60_000;
  }
  Injectable()(Config);
  class ConfigModule {}
  Module({ providers: [Config], exports: [Config] })(ConfigModule);
  const of = (election: string): DynamicModule =>
    IncumbentModule.registerAsync({
      election,
      imports: [ConfigModule],
      inject: [Config],
      useFactory: ({ lease }: Config) => ({ ...FAST, store, lease, name: `of ${election}` }),
    });
  class Both {
    invoices!: Candidate;

    async bill(): Promise<string | undefined> {
      return currentTerm()?.election;
    }

    async write(): Promise<string | undefined> {
      return currentTerm()?.election;
    }
  }
  InjectCandidate('invoices')(Both.prototype, 'invoices');
  decorate(Both, 'bill', LeaderOnly({ election: 'invoices' }));
  decorate(Both, 'write', LeaderOnly({ election: 'mails' }));
  Injectable()(Both);
  const app = await started([of('invoices'), of('mails')], [Both]);
  const both = app.get(Both);
  expect(both.invoices.name).toBe('of invoices');
  await until('both lead', async () => (await store.list()).filter(({ leader }) => leader !== null).length === 2);
  expect([await both.bill(), await both.write()]).toEqual(['invoices', 'mails']);
  await app.close();
  // A store that was open before is left open.
  expect((await store.list()).every(({ leader }) => leader === null)).toBe(true);
});

test('what other decorators leave on the method is still there', async () => {
  class Timed {
    async work(): Promise<void> {}
  }
  const at = (name: string) => SetMetadata(name, 'here') as unknown as ReturnType<typeof LeaderOnly>;
  decorate(Timed, 'work', at('above'), LeaderOnly(), at('below'));
  const found = ['above', 'below'].map((name) => new Reflector().get(name, Timed.prototype.work));
  expect([found, Timed.prototype.work.name]).toEqual([['here', 'here'], 'work']);
});

test('an application without the module does not start, and settings that cannot be meant are refused', async () => {
  await expect(started([], [newsletter()])).rejects.toThrow('Candidate');
  const leese = IncumbentModule.register('jobs', { store: 'memory:', leese: 1 } as never);
  await expect(started([leese], [])).rejects.toThrow('leese');
  expect(() => decorate(newsletter(), 'send', LeaderOnly({ otherwise: 'raise' as never }))).toThrow('otherwise is "raise"');
  expect(() => IncumbentModule.register(7 as never, { store: 'memory:' })).toThrow('election is 7, and must be a string');
});
