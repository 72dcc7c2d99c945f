/** What is refused in JavaScript itself, and why: from `bindings/schema/refusals.toml`. */

// generated: refusals
/** Refuses a value of the wrong kind. */
export const unlike = (name: string, value: string, accepted: string): string =>
  `${name} is ${value}, and must be ${accepted}`;

/** Refuses settings that are not an object. */
export const noSettings = (what: string, value: string): string =>
  `the settings for ${what} must be an object, not ${value}`;

/** Refuses options that are not an object. */
export const noOptions = (what: string, value: string): string =>
  `the options for ${what} must be an object, not ${value}`;

/** Refuses a setting that is null. */
export const nullSetting = (name: string): string =>
  `${name} is null: leave it out for its default`;

/** Refuses an unknown option. */
export const unknownOption = (what: string, name: string, known: string): string =>
  `${what} has no option "${name}": choose one of ${known}`;

/** Refuses an unknown event name. */
export const unknownEvent = (name: string, known: string): string =>
  `a candidate has no event "${name}": choose one of ${known}`;

/** Refuses two durations for one drain. */
export const twoDrains = (): string =>
  'drain and drainTime both set a duration: keep one of them, or make drain a function';

// end of refusals
