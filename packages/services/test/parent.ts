import { openServices } from '@sume-inbox/services'

// Opens services and never closes them: what becomes of them is for the guardian.
const [root = ''] = process.argv.slice(2)
const { databaseUrl, redisUrl } = await openServices({ root })
process.stdout.write(`${JSON.stringify([databaseUrl, redisUrl])}\n`)
setInterval(() => undefined, 60_000)
