import type { Term } from 'incumbent';

export const store: string;
export const election: string;
export const port: string;
export function step(term: Term): boolean;
export function lead(term: Term): Promise<void>;
