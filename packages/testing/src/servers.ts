/**
 * The servers that the whole test run shares, from the environment that `packages/services` sets.
 * A test keeps to a database and a queue prefix of its own on them.
 */
export function servers(): { databaseUrl: string; redisUrl: string } {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } = process.env
  if (!databaseUrl || !redisUrl) {
    throw new Error(
      'these tests need MySQL and Redis: run `pnpm test`, or `pnpm services vitest run PATH` for some of them',
    )
  }
  return { databaseUrl, redisUrl }
}
