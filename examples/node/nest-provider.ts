// A NestJS provider that leads while its application runs, and leaves with it.
//
//     npx tsc -p . && node nest-provider.js sqlite:elections.db
//
// The decorators need `experimentalDecorators` and `emitDecoratorMetadata`, as in every Nest application.

import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { connect, type Candidate, type CandidateStatus, type Store, type Term } from 'incumbent';

@Injectable()
export class Newsletter {
  /** Sends the token with every request, so that the resource can refuse a former leader. */
  send(token: string): void {
    console.log('sent with token', token);
  }
}

@Injectable()
export class Election implements OnApplicationBootstrap, OnApplicationShutdown {
  #store?: Store;
  #candidate?: Candidate;
  #leading?: Promise<void>;

  constructor(private readonly newsletter: Newsletter) {}

  async onApplicationBootstrap(): Promise<void> {
    this.#store = await connect(process.argv[2] ?? 'memory:', { timeout: 10_000 });
    this.#candidate = await this.#store.campaign('newsletter');
    this.#leading = this.#candidate.lead((term) => this.work(term));
  }

  /** Nest waits for this: the work finishes, and leadership is released. */
  async onApplicationShutdown(): Promise<void> {
    await this.#store?.close();
    await this.#leading;
  }

  /** For a health route. */
  status(): CandidateStatus | undefined {
    return this.#candidate?.status();
  }

  private async work(term: Term): Promise<void> {
    console.log('leading with token', term.token);
    while (!term.drainSignal.aborted) {
      this.newsletter.send(term.token);
      await sleep(1000, null, { signal: term.drainSignal }).catch(() => undefined);
    }
    console.log('the last newsletter is sent');
  }
}

@Module({ providers: [Newsletter, Election], exports: [Election] })
export class ElectionModule {}

const app = await NestFactory.createApplicationContext(ElectionModule, { logger: ['warn', 'error'] });
// Without this call Nest runs no hook on SIGTERM and SIGINT.
app.enableShutdownHooks();
