// An application of NestJS that leads while it runs, with a method that only the leader runs.
//
//     npx tsc -p . && node nest-provider.js sqlite:elections.db
//
// The decorators need `experimentalDecorators` and `emitDecoratorMetadata`, as in every Nest application.

import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Candidate, currentTerm, type CandidateStatus, type Term } from 'incumbent';
import { IncumbentModule, LeaderOnly } from 'incumbent/nest';

@Injectable()
export class Newsletter implements OnApplicationBootstrap, OnApplicationShutdown {
  #leading?: Promise<void>;

  constructor(private readonly candidate: Candidate) {}

  /** The token goes along with every request, so that the resource can refuse a leader of the past. */
  @LeaderOnly()
  async send(): Promise<void> {
    console.log('sent with token', currentTerm()?.token);
  }

  onApplicationBootstrap(): void {
    this.#leading = this.candidate.lead((term) => this.work(term));
  }

  /** The module has closed the candidate before: the work has finished, and leadership is given back. */
  async onApplicationShutdown(): Promise<void> {
    await this.#leading;
  }

  /** For a health route. */
  status(): CandidateStatus {
    return this.candidate.status();
  }

  private async work(term: Term): Promise<void> {
    console.log('leading with token', term.token);
    while (!term.drainSignal.aborted) {
      await this.send();
      await sleep(1000, null, { signal: term.drainSignal }).catch(() => undefined);
    }
    console.log('the last newsletter is sent');
  }
}

@Module({
  imports: [
    IncumbentModule.register('newsletter', {
      store: process.argv[2] ?? 'memory:',
      storeSettings: { timeout: 10_000 },
    }),
  ],
  providers: [Newsletter],
})
export class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
// Without this call Nest runs no hook on SIGTERM and SIGINT.
app.enableShutdownHooks();
