/** Log records go to the programs that request them, and to no other. */

import { afterEach, expect, test, vi } from 'vitest';

import { InvalidSettingError, connect, logTo, type LogRecord } from '../dist/index.js';
import { faultyStore, until } from '../dist/testing.js';
import { FAST, event, program, won } from './support.js';

afterEach(() => logTo(null));

async function lead(election: string): Promise<void> {
  await using store = await connect('memory:');
  await using candidate = await store.campaign(election, { ...FAST, name: 'a' });
  await won(candidate);
}

test('terms are logged to a function, with their election and candidate', async () => {
  const records: LogRecord[] = [];
  logTo((record) => records.push(record));
  await lead('logged');
  const ours = (): LogRecord[] => records.filter(({ fields }) => fields['election'] === 'logged');
  await until('both ends are logged', () => ours().length >= 2);
  expect(ours().map(({ level, target, message }) => [level, target.split('::')[0], message.split(/[: ]/)[0]])).toEqual([
    ['info', 'incumbent', 'won'],
    ['info', 'incumbent', 'lost'],
  ]);
  expect(ours()[0]?.fields).toMatchObject({ election: 'logged', candidate: 'a' });
});

test('a logger has a text, and nothing that is less loud than it asked for', async () => {
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  logTo(logger, { level: 'error' });
  await using faulty = await faultyStore();
  faulty.denyWrites('no permission');
  const candidate = await faulty.store.campaign('jobs', FAST);
  await event(candidate.events(), 'warning');
  await until('the error is logged', () => logger.error.mock.calls.length > 0);
  expect(logger.error.mock.calls[0]![0]).toMatch(/^incumbent.*no permission.*\(.*election=jobs/);
  expect([logger.debug, logger.info, logger.warn].map(({ mock }) => mock.calls)).toEqual([[], [], []]);
});

test('a logger that is removed gets no more records, and a new one replaces the one before', async () => {
  const [first, second] = [vi.fn(), vi.fn()];
  logTo(first, { level: 'debug' });
  logTo(second, { level: 'debug' });
  await lead('second');
  await until('it is logged', () => second.mock.calls.some(([{ message }]) => message.startsWith('lost')));
  logTo(null);
  const { length } = second.mock.calls;
  await lead('third');
  expect([first.mock.calls.length, second.mock.calls.length]).toEqual([0, length]);
});

test('a logger that throws or rejects is a warning, and harms no other', async () => {
  const [warned, unhandled] = [vi.fn(), vi.fn()];
  process.on('warning', warned).on('unhandledRejection', unhandled);
  let isFirst = true;
  logTo(() => {
    isFirst = !isFirst;
    if (!isFirst) {
      throw new Error('thrown');
    }
    return Promise.reject(new Error('rejected'));
  });
  await lead('harmless');
  await until('both are warnings', () => warned.mock.calls.length >= 2);
  expect(new Set(warned.mock.calls.map(([{ message }]) => message))).toEqual(new Set(['thrown', 'rejected']));
  expect(unhandled).not.toHaveBeenCalled();
  process.off('warning', warned).off('unhandledRejection', unhandled);
});

test.each([
  [() => logTo(undefined as never), 'sink is undefined, and must be null, a function, or a logger'],
  [() => logTo({ info: () => 0 } as never), 'sink is an object, and must be null, a function, or a logger'],
  [() => logTo(console, { level: 'loud' as never }), 'level is "loud", and must be "trace", "debug", "info", "warn" or "error"'],
  [() => logTo(console, { lvl: 'info' } as never), 'logTo has no option "lvl": choose one of level'],
])('what cannot be meant is refused by name: %o', (act, message) => {
  expect(act).toThrow(InvalidSettingError);
  expect(act).toThrow(message);
});

test.each(['quiet', 'console'])('a process logs when it is asked to, and is not kept running by it: %s', async (what) => {
  const process = program('log.mjs', what);
  expect([await process.ended, process.errors]).toEqual([0, '']);
  const logged = process.lines.map((line) => line.replace(/:.*/s, ''));
  expect(logged.includes('incumbent')).toBe(what === 'console');
});
