import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import suite from './suite.cjs';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

suite({ test, expect, timers: { count: () => vi.getTimerCount(), advance: (time) => vi.advanceTimersByTime(time) } });
