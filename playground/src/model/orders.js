// The actions of a spectator. Each is an order for `world.order`; an order that does not apply does nothing.

export const kill = (name) => (world) => {
  const candidate = world.candidate(name);
  if (!candidate.isAlive) return;
  const led = candidate.isLeader();
  const holds = world.store.holder === name;
  candidate.die();
  world.tell({ kind: 'died', who: name, led, holds, expires: world.store.expires });
  world.leads(candidate);
};

export const restart = (name) => (world) => {
  const candidate = world.candidate(name);
  if (candidate.isAlive) return;
  candidate.start();
  world.tell({ kind: 'born', who: name });
};

export const pause = (name) => (world) => {
  const candidate = world.candidate(name);
  if (!candidate.isAlive || candidate.isPaused) return;
  const led = candidate.isLeader();
  candidate.pause();
  world.tell({ kind: 'paused', who: name, led, until: candidate.leadsUntil });
};

export const resume = (name) => (world) => {
  const candidate = world.candidate(name);
  if (!candidate.isPaused) return;
  const { leadsUntil } = candidate;
  world.tell({ kind: 'resumed', who: name, believed: leadsUntil !== undefined, leads: candidate.isLeader(), leadsUntil });
  candidate.resume();
};

export const cut = (name) => (world) => {
  const { network } = world;
  if (network.isCut(name)) return;
  network.cut(name);
  const candidate = world.candidate(name);
  world.tell({ kind: 'cut', who: name, led: candidate.isLeader(), until: candidate.leadsUntil });
};

export const heal = (name) => (world) => {
  if (!world.network.isCut(name)) return;
  world.network.heal(name);
  world.candidate(name).reconnectLater();
  world.tell({ kind: 'healed', who: name });
};

export const resign = (name) => (world) => {
  const candidate = world.candidate(name);
  if (candidate.process?.state !== 'leading') return;
  candidate.resign();
};

export const setRate = (name, ppm) => (world) => {
  const candidate = world.candidate(name);
  if (candidate.clock.ppm === ppm) return;
  candidate.setRate(ppm);
  world.tell({ kind: 'rate', who: name, ppm });
};

export const removeRecord = (world) => {
  const { holder } = world.store;
  if (holder === undefined) return;
  world.tell({ kind: 'removes', who: holder });
  world.store.remove();
};

/**
 * The lease is a setting of a campaign, made when it begins: every running process leaves and starts again
 * with the new one. A frozen process cannot leave, and is killed.
 */
export const setLease = (lease) => (world) => {
  if (world.lease === lease) return;
  world.lease = lease;
  world.tell({ kind: 'lease', lease });
  for (const candidate of world.candidates.filter(({ isAlive }) => isAlive)) {
    candidate.leave();
    world.leads(candidate);
    world.tell({ kind: 'left', who: candidate.name });
    candidate.start();
    world.tell({ kind: 'born', who: candidate.name, isQuiet: true });
  }
};

export const setNetwork = (kind) => (world) => {
  if (world.network.kind === kind) return;
  world.network.kind = kind;
  world.tell({ kind: 'network', network: kind });
};
