/** What a connection's requests say, for a proxy that waits for one of them. */
export interface RequestReader {
  /** The text of the request in these bytes: of MySQL its SQL, also where a prepared statement is only executed. */
  request(bytes: Buffer): string
  /** Sees the server's bytes too: an answer names the statement that was prepared. */
  answer(bytes: Buffer): void
}

const COM_QUERY = 0x03
const COM_STMT_PREPARE = 0x16
const COM_STMT_EXECUTE = 0x17
/** After the packet's header: the command of a request, or the status of an answer; then a statement's id. */
const COMMAND_AT = 4
const STATEMENT_AT = 5
const STATEMENT_END = STATEMENT_AT + 4

/** MySQL's protocol, as far as mysql2 uses it: one request a packet, and none before the last one's answer. */
function mysqlReader(): RequestReader {
  const statements = new Map<number, string>()
  let preparing: string | undefined
  return {
    request(bytes) {
      if (bytes.length < STATEMENT_END) return ''
      switch (bytes.readUInt8(COMMAND_AT)) {
        case COM_QUERY:
          return bytes.toString('latin1', STATEMENT_AT)
        case COM_STMT_PREPARE:
          // Nothing happens by it yet: what counts is the EXECUTE.
          preparing = bytes.toString('latin1', STATEMENT_AT)
          return ''
        case COM_STMT_EXECUTE:
          return statements.get(bytes.readUInt32LE(STATEMENT_AT)) ?? ''
        default:
          return ''
      }
    },
    answer(bytes) {
      if (preparing === undefined || bytes.length < STATEMENT_END) return
      statements.set(bytes.readUInt32LE(STATEMENT_AT), preparing)
      preparing = undefined
    },
  }
}

const plainReader = (): RequestReader => ({
  request: (bytes) => bytes.toString('latin1'),
  answer: () => undefined,
})

/** The reader for one connection to the server that this URL names. */
export const readerFor = (url: URL): RequestReader =>
  url.protocol === 'mysql:' ? mysqlReader() : plainReader()
