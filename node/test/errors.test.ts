/** Errors: one class for each code, and settings that are refused by their JavaScript names. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import * as incumbent from '../dist/index.js';
import { addon } from '../dist/addon.js';
import { makeError, type Code } from '../dist/errors.js';

const store = await incumbent.connect('memory:');
afterAll(() => store.close());

const codes = addon.codes();

test.each(codes.filter(({ code }) => code !== 'TERM_ENDED'))('$code has a class of its own', ({ code, isTemporary }) => {
  const error = makeError(code as Code, 'why', 'cause');
  expect(error).toMatchObject({ code, isTemporary, message: 'why', cause: 'cause' });
  expect(error).toBeInstanceOf(incumbent.IncumbentError);
  expect(error.name.replace('Error', '').toUpperCase()).toBe(code.replaceAll('_', ''));
  expect(incumbent[error.name as 'BrokenError']).toBe(error.constructor);
});

test('the codes and the reasons are those of the documentation', () => {
  const page = readFileSync(join(__dirname, '../../docs/reference/errors.md'), 'utf8');
  const [, listed, reasons] = page.split(/^## /m).map((part) => {
    return [...part.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, code]) => code);
  });
  expect(codes.map(({ code }) => code)).toEqual(listed);
  expect(addon.reasons().map(({ code }) => code)).toEqual(reasons);
});

test.each([
  [{ winDelay: true }, 'winDelay is true, and must be "automatic", "cautious", or a number of milliseconds'],
  [{ winDely: 1 }, 'a campaign has no setting "winDely": did you mean winDelay?'],
  [{ win_delay: 1 }, 'did you mean winDelay?'],
  [{ driftPpm: -1 }, 'driftPpm is -1, and must be a whole number, not negative'],
  [{ lease: NaN }, 'lease is NaN'],
  [{ lease: 10n }, 'lease is a bigint, and must be a number of milliseconds'],
  [{ lease: () => 1 }, 'lease is a function'],
  [{ lease: 500 }, 'lease is 500 (500ms), and must be at least 5s'],
  [{ lease: '500ms' }, 'lease is "500ms", and must be at least 5s'],
  [{ lease: 5000, skew: 1000 }, 'lower skew, driftPpm and slack'],
  [{ name: 7 }, 'name is 7, and must be a string'],
  [{ preset: 'quick' }, 'preset is "quick", and must be "standard", "fast" or "go_compatible"'],
  [{ backoff: [] }, 'backoff is an empty list'],
  [{ backoff: [100, 'soon'] }, 'backoff is "soon"'],
  [{ metadata: { a: 1 } }, 'metadata["a"] is 1, and must be a string'],
  // A caller's text is not taken for the name of a setting.
  [{ metadata: { 'drain mode': 'x' }, drainTime: 1000 }, 'metadata key is "drain mode", and must be letters'],
  [{ metadata: { drift_ppm: 'x' } }, 'metadata key is "drift_ppm", and must be letters'],
  [{ preset: 'win_delay' }, 'preset is "win_delay", and must be'],
  [{ drainTim: 1 }, 'a campaign has no setting "drainTim"'],
  [{ drainTim: 1 }, 'metadata, drainTime, errorEndsTerm'],
  [{ drainTime: 'soon', drain: () => undefined }, 'drainTime is "soon", and must be a number of milliseconds'],
  [{ drainTime: 1000, drain: 1000 }, 'drain and drainTime both set a duration: keep one of them'],
  [{ errorEndsTerm: 1 }, 'errorEndsTerm is 1, and must be true or false'],
  [{ metadata: new Date(0) }, 'metadata is a Date, and must be an object of strings'],
  [{ lease: null }, 'lease is null: leave it out for its default'],
  [{ name: '\ud800' }, 'and must be Unicode: it has half of a surrogate pair'],
  [JSON.parse('{"__proto__": 1}'), /^a campaign has no setting "__proto__": choose one of name, /],
  [Object.create({ lease: NaN }), 'lease is NaN'],
  [new Map([['lease', '9s']]), 'the settings for a campaign must be an object, not a Map'],
  [[], 'the settings for a campaign must be an object, not a list'],
  ['fast', 'the settings for a campaign must be an object, not "fast"'],
])('a campaign with %o is refused by name', async (settings, message) => {
  const campaign = store.campaign('jobs', settings as incumbent.CampaignSettings);
  await expect(campaign).rejects.toBeInstanceOf(incumbent.InvalidSettingError);
  await expect(campaign).rejects.toThrow(message);
});

test.each([
  [undefined, {}, incumbent.InvalidSettingError, 'url is undefined, and must be a string'],
  ['memory:', { failFast: 1 }, incumbent.InvalidSettingError, 'failFast is 1, and must be true or false'],
  ['memory:', { creds: 'x' }, incumbent.InvalidSettingError, 'a memory: store has no setting "creds"'],
  ['nats://x/B', { connectTimout: 1 }, incumbent.InvalidSettingError, 'did you mean connectTimeout?'],
  ['floppy:', {}, incumbent.InvalidUrlError, 'no store has the scheme "floppy"'],
  ['memory:n\n', {}, incumbent.InvalidUrlError, "the store's URL ends in the character '\\n': leave out"],
  ['sqlite:e.db ', { poll: 10 }, incumbent.InvalidUrlError, 'path is "e.db ", and must be free of'],
  ['nats://h/B', { domain: 'hub\n' }, incumbent.InvalidUrlError, 'domain is "hub\\n"'],
  ['"memory:"', {}, incumbent.InvalidUrlError, "the store's URL is in quotes"],
  ['nats://127.0.0.1:1/B', { apiPrefix: 'a b' }, incumbent.InvalidUrlError, 'apiPrefix is "a b", but a part of a subject'],
  ['nats://127.0.0.1:1/B?api_prefix=a%20b', {}, incumbent.InvalidUrlError, 'api_prefix is "a b", but a part of a subject'],
  ['nats://127.0.0.1:1/B', { failFast: true }, incumbent.StoreUnavailableError, 'cannot connect to NATS'],
])('connecting to %s with %o is refused', async (url, settings, kind, message) => {
  const connecting = incumbent.connect(url as string, settings as incumbent.StoreSettings);
  await expect(connecting).rejects.toBeInstanceOf(kind);
  await expect(connecting).rejects.toThrow(message);
});

test('an error brings what caused it', async () => {
  const error: unknown = await incumbent.connect('nats://127.0.0.1:1/B', { failFast: true }).catch((one) => one);
  expect((error as Error).cause).toBeInstanceOf(Error);
});

test('a key or a function that is none is refused by name', async () => {
  await expect(store.campaign(7 as unknown as string)).rejects.toThrow('election is 7, and must be a string');
  expect(() => store.observe(null as unknown as string)).toThrow('election is null, and must be a string');
  await expect(store.campaign('jobs\udc00')).rejects.toThrow('it has half of a surrogate pair');
  await using candidate = await store.campaign('jobs');
  await expect(candidate.lead(7 as unknown as () => void)).rejects.toThrow('work is 7, and must be a function');
  await expect(candidate.handOver(undefined as unknown as string)).rejects.toThrow('to is undefined');
});

test('a candidate name that the store cannot hold is refused', async () => {
  await expect(store.campaign('jobs', { name: 'a\nb' })).rejects.toBeInstanceOf(incumbent.InvalidNameError);
});
