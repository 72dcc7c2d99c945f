// Loads the package, and prints the handles that are left of that, as test runners look for them.
import { createHook } from 'node:async_hooks';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const open = new Map();
createHook({
  init: (id, type) => open.set(id, type),
  destroy: (id) => open.delete(id),
}).enable();
require('incumbent');
require('incumbent/testing');
const types = [...open.values()].filter((type) => type !== 'PROMISE' && type !== 'TickObject');
console.log('open', JSON.stringify(types));
// The stores are those of the compiled part, which is loaded with this.
const { STORES } = require('incumbent');
console.log('stores', STORES.includes('sqlite'), Array.isArray(STORES), JSON.stringify(STORES).startsWith('["'), Object.isFrozen(STORES));
