import { openServices } from '@sume-inbox/services'

// Opens services and never closes them: what becomes of them is for the guardian.
const [root = ''] = process.argv.slice(2)
const { mysql, redis } = await openServices({ root })
process.stdout.write(`${JSON.stringify([mysql?.pid(), redis?.pid()])}\n`)
setInterval(() => undefined, 60_000)
