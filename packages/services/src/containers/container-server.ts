import { setTimeout as sleep } from 'node:timers/promises'
import { type ContainerRuntimeClient, GenericContainer, type WaitStrategy } from 'testcontainers'
import { freePort } from '../free-port.ts'
import type { ManagedServer } from '../managed-server.ts'

export interface ServerContainer {
  readonly name: string
  readonly image: string
  /** The port that the server listens on inside. */
  readonly port: number
  readonly environment: Record<string, string>
  readonly command: string[]
  /** Its address for the port on this side. */
  url(host: string, port: number): string
  /** Resolves when the server at this address answers; rejects while it does not. */
  answers(url: string): Promise<unknown>
  /** Told of the container before it starts. */
  readonly created: (id: string) => void
}

const START_MS = 120_000
const STOP_S = 20

/** Starts a server in a container, on a port that stays the same over its restarts. */
export async function startContainer(
  engine: ContainerRuntimeClient,
  spec: ServerContainer,
): Promise<{ server: ManagedServer; url: string }> {
  const { host } = engine.info.containerRuntime
  const port = await freePort()
  const url = spec.url(host, port)
  const started = await new PortedContainer(spec.image, host, spec.created)
    .withEnvironment(spec.environment)
    .withCommand(spec.command)
    .withExposedPorts({ container: spec.port, host: port })
    .withWaitStrategy(new Started())
    .start()
  const container = engine.container.getById(started.getId())

  const running = async () => {
    const { State: state } = await container.inspect()
    // A fault that hits nothing would let a test pass that proves nothing.
    if (!state.Running) throw new Error(`${spec.name} does not run`)
    return state
  }
  const untilAnswers = async () => {
    const patience = performance.now() + START_MS
    for (;;) {
      try {
        await spec.answers(url)
        return
      } catch (error) {
        const { Running } = (await container.inspect()).State
        if (Running && performance.now() < patience) {
          await sleep(50)
          continue
        }
        const what = Running ? 'did not answer in time' : 'ended at its start'
        const log = await logTail(container)
        throw new Error(`${spec.name} ${what}; the end of its log:\n${log}`, { cause: error })
      }
    }
  }
  const server: ManagedServer = {
    pid: async () => (await running()).Pid,
    async start() {
      if (!(await container.inspect()).State.Running) await container.start()
      await untilAnswers()
    },
    async stop() {
      // The engine does not stop a frozen one.
      if ((await running()).Paused) await container.unpause()
      await container.stop({ t: STOP_S })
      const { ExitCode } = (await container.inspect()).State
      if (ExitCode !== 0) throw new Error(`${spec.name} did not stop in time (${ExitCode})`)
    },
    async kill() {
      await running()
      await container.kill()
      await container.wait()
    },
    async freeze() {
      if (!(await running()).Paused) await container.pause()
    },
    async thaw() {
      if ((await running()).Paused) await container.unpause()
    },
  }
  await untilAnswers()
  return { server, url }
}

/** Published on loopback only, where the engine is on this machine; and its id told before it starts. */
class PortedContainer extends GenericContainer {
  private readonly host: string
  private readonly created: (id: string) => void

  constructor(image: string, host: string, created: (id: string) => void) {
    super(image)
    this.host = host
    this.created = created
  }

  protected override async beforeContainerCreated(): Promise<void> {
    if (!['localhost', '127.0.0.1'].includes(this.host)) return
    const bindings = Object.values<{ HostIp?: string }[]>(this.hostConfig.PortBindings ?? {})
    for (const binding of bindings.flat()) binding.HostIp = '127.0.0.1'
  }

  protected override async containerCreated(id: string): Promise<void> {
    this.created(id)
  }
}

/** Waits for nothing: whether the server answers is asked from this side, as its users will. */
class Started implements WaitStrategy {
  waitUntilReady = () => Promise.resolve()
  withStartupTimeout = () => this
  isStartupTimeoutSet = () => true
  getStartupTimeout = () => START_MS
}

async function logTail(container: {
  logs(options: { stdout: true; stderr: true; tail: number }): Promise<Buffer>
}): Promise<string> {
  const bytes = await container.logs({ stdout: true, stderr: true, tail: 15 })
  // Each line comes with a header of control bytes.
  return bytes.toString('utf8').replaceAll(/[^\P{Cc}\n]|\uFFFD/gu, '')
}
