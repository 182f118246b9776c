import { type AppProcess, startApp } from './start-app.ts'
import { TEST_SECRET } from './delivery.ts'

/** A job or run that the sandbox was paid for. */
export interface Paid {
  readonly id: string
  readonly kind: 'job' | 'run'
  readonly key: string | null
  readonly path: string
}

/** The sandbox Sume as a process. */
export interface SandboxProcess extends AsyncDisposable {
  readonly process: AppProcess
  readonly url: string
  paid(): Promise<Paid[]>
  /** Asks for a fault, as `POST /_sandbox/faults` takes it. */
  fault(fault: Record<string, unknown>): Promise<void>
}

export async function openSandbox(settings: Record<string, string> = {}): Promise<SandboxProcess> {
  const process = await startApp('sandbox', {
    SUME_WEBHOOK_SECRETS: TEST_SECRET,
    SANDBOX_RETRY_BASE_MS: '50',
    ...settings,
  })
  return {
    process,
    url: process.url,
    async paid() {
      const answer = (await (await fetch(`${process.url}/_sandbox/paid`)).json()) as {
        data: Paid[]
      }
      return answer.data
    },
    async fault(fault) {
      const answer = await fetch(`${process.url}/_sandbox/faults`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(fault),
      })
      if (answer.status !== 201) throw new Error(`no such fault: ${await answer.text()}`)
    },
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  }
}
