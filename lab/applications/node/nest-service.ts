// Nest on Express: the module campaigns while the application runs, and the work is a method that only the leader runs.

import 'reflect-metadata';
import { Controller, Get, Injectable, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Candidate, currentTerm, type CandidateStatus, type Term } from 'incumbent';
import { IncumbentModule, LeaderOnly } from 'incumbent/nest';
import { setTimeout as sleep } from 'node:timers/promises';

import { election, port, step, store } from './work.cjs';

@Injectable()
export class Newsletter implements OnApplicationBootstrap, OnApplicationShutdown {
  #leading?: Promise<void>;

  constructor(private readonly candidate: Candidate) {}

  @LeaderOnly({ otherwise: 'skip' })
  async send(): Promise<void> {
    step(currentTerm()!);
  }

  onApplicationBootstrap(): void {
    this.#leading = this.candidate.lead((term) => this.work(term));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#leading;
  }

  private async work(term: Term): Promise<void> {
    while (!term.drainSignal.aborted) {
      await this.send();
      await sleep(50, null, { signal: term.drainSignal }).catch(() => undefined);
    }
  }
}

@Controller()
export class Health {
  constructor(private readonly candidate: Candidate) {}

  @Get('leader')
  leader(): CandidateStatus {
    return this.candidate.status();
  }
}

@Module({
  imports: [IncumbentModule.register(election, { store, splay: 0 })],
  controllers: [Health],
  providers: [Newsletter],
})
export class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
await app.listen(Number(port), '127.0.0.1');
