import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { select } from './events.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.drop())

/** `MariaDB 10.11`, `MySQL 9.7`: servers of one family print the same schema in slightly different words. */
async function serverName(): Promise<string> {
  const [row] = await select<{ version: string }>(db.ledger, 'SELECT VERSION() AS version')
  const [, version = ''] = /^(\d+\.\d+)/.exec(row?.version ?? '') ?? []
  return `${row?.version.includes('MariaDB') ? 'MariaDB' : 'MySQL'} ${version}`
}

/** The whole schema as the server has it, without what differs from database to database. */
async function dumpSchema(): Promise<string> {
  const tables = await select<{ name: string; type: string }>(
    db.ledger,
    `SELECT table_name AS name, table_type AS type FROM information_schema.tables
      WHERE table_schema = DATABASE() ORDER BY table_type, table_name`,
  )
  const statements: string[] = []
  for (const { name, type } of tables) {
    const view = type === 'VIEW'
    const [row] = await select<Record<string, string>>(
      db.ledger,
      `SHOW CREATE ${view ? 'VIEW' : 'TABLE'} ${name}`,
    )
    const text = row?.[view ? 'Create View' : 'Create Table'] ?? ''
    statements.push(text.replace(/ AUTO_INCREMENT=\d+/, '').replace(/ DEFINER=\S+/, ''))
  }
  return statements.join(';\n\n')
}

// A change of the schema shows in review as a change of this file: `vitest run -u` on this test rewrites it.
test('the migrations give the schema that is committed', async (context) => {
  const name = await serverName()
  const file = join(
    import.meta.dirname,
    `../src/ledger/schema.${name.startsWith('MariaDB') ? 'mariadb' : 'mysql'}.sql`,
  )
  const committed = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (!committed.startsWith(`-- ${name}\n`)) context.skip(`no schema of ${name} is committed`)
  await expect(`-- ${name}\n${await dumpSchema()};\n`).toMatchFileSnapshot(file)
})
