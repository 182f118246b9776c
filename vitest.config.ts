import { defineConfig } from 'vitest/config'

// unit: pure, beside the source. integration: one part on real servers. e2e: whole processes.
// chaos: whole processes while faults are made, each scenario ending in the invariants.
// compose: the system of docker-compose.yml.
// The servers' addresses come from `packages/services` (see the `test` script).
export default defineConfig({
  test: {
    // A machine under load takes its time; what never comes still fails.
    expect: { poll: { timeout: 10_000, interval: 50 } },
    reporters: process.env['CI']
      ? ['default', ['json', { outputFile: '.local/test-results.json' }]]
      : ['default'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{apps,packages}/*/src/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['{apps,packages}/*/test/**/*.test.ts'],
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        // Most of it waits: for leases, locks and servers to come back. So files and tests may run side by side.
        extends: true,
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          maxConcurrency: 12,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Needs a Docker engine, so it is a command of its own: `pnpm test:compose`.
        extends: true,
        test: {
          name: 'compose',
          include: ['test/compose/**/*.test.ts'],
          testTimeout: 60_000,
        },
      },
    ],
  },
})
