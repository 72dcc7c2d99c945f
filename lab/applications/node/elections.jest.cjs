const suite = require('./suite.cjs');

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

suite({ test, expect, timers: { count: () => jest.getTimerCount(), advance: (time) => jest.advanceTimersByTime(time) } });
