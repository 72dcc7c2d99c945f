module.exports = {
  apps: [
    {
      name: 'worker',
      script: 'pm2-worker.mjs',
      instances: 1,
      // Longer than the drain.
      kill_timeout: 15_000,
    },
  ],
};
