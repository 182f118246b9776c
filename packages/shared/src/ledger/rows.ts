import type { ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import type { Db } from './db.ts'

/** What a statement's `?` may stand for. Never another object or `undefined`: the driver would make other SQL of it. */
export type SqlValue = string | number | Buffer | Date | null

/** Runs a writing statement. With the flag `-FOUND_ROWS`, an UPDATE counts the rows that it changed. */
export async function affectedRows(db: Db, sql: string, values: SqlValue[]): Promise<number> {
  const [result] = await db.execute<ResultSetHeader>(sql, values)
  return result.affectedRows
}

/** Runs a guarded UPDATE on one row: whether its guard let it through. */
export const changesOne = async (db: Db, sql: string, values: SqlValue[]): Promise<boolean> =>
  (await affectedRows(db, sql, values)) === 1

/** Runs a reading statement. */
export async function rows<Row>(db: Db, sql: string, values: SqlValue[]): Promise<Row[]> {
  const [result] = await db.execute<RowDataPacket[]>(sql, values)
  return result as Row[]
}

/** The same on a connection of a caller's own: whatever it is set to, rows are objects by the driver's types. */
export async function rowsAnywhere<Row>(db: Db, sql: string, values: SqlValue[]): Promise<Row[]> {
  const asObjects = { rowsAsArray: false, nestTables: false, typeCast: true } as const
  const [result] = await db.execute<RowDataPacket[]>({ sql, ...asObjects }, values)
  return result as Row[]
}
