/** What is refused in JavaScript itself, and why: from `bindings/schema/refusals.toml`. */

// generated: refusals
/** Refuses a value of another kind. */
export const unlike = (name: string, value: string, accepted: string): string =>
  `${name} is ${value}, and must be ${accepted}`;

/** Refuses settings that are not an object. */
export const noSettings = (what: string, value: string): string =>
  `the settings of ${what} are ${value}, and must be an object`;

/** Refuses options that are not an object. */
export const noOptions = (what: string, value: string): string =>
  `the options of ${what} are ${value}, and must be an object`;

/** Refuses a setting that is null. */
export const nullSetting = (name: string): string =>
  `${name} is null: leave it out for its default`;

/** Refuses a name that no option has. */
export const unknownOption = (what: string, name: string, known: string): string =>
  `${what} has no option "${name}": known are ${known}`;

/** Refuses a name that no event has. */
export const unknownEvent = (name: string, known: string): string =>
  `a candidate has no event "${name}": known are ${known}`;

/** Refuses two lengths of a drain. */
export const twoDrains = (): string =>
  'drain and drainTime both give a length of time: give one of them, or drain as a function';

// end of refusals
