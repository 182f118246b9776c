import { type ContainerRuntimeClient, getContainerRuntimeClient, ImageName } from 'testcontainers'

const PULL_MS = 10 * 60_000

/** The Docker engine that testcontainers finds: its own settings, `DOCKER_HOST`, or the usual sockets. */
export async function findEngine(): Promise<ContainerRuntimeClient> {
  return getContainerRuntimeClient().catch((error: unknown) => {
    throw new Error('no Docker engine answers', { cause: error })
  })
}

/** Pulls an image that the engine does not have, and says so first. @throws when it cannot be had. */
export async function haveImage(
  engine: ContainerRuntimeClient,
  image: string,
  log: (line: string) => void,
): Promise<void> {
  const name = ImageName.fromString(image)
  if (await engine.image.exists(name)) return
  log(`services: pulling the image ${image}`)
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error('it took too long')), PULL_MS).unref()
  })
  // The library takes a pull that failed for one that worked, so look afterwards.
  const pulled = engine.image.pull(name).then(() => engine.image.exists(name))
  const had = await Promise.race([pulled, late]).catch((error: unknown) => {
    throw new Error(`the image ${image} cannot be had: ${said(error)}`, { cause: error })
  })
  if (!had) throw new Error(`the image ${image} cannot be had: pulling it failed`)
}

/** Ends containers and removes them with their data; those that are gone already are fine. */
export async function removeContainers(ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const engine = await findEngine()
  await Promise.all(
    ids.map(async (id) => {
      try {
        await engine.container.getById(id).remove({ force: true, v: true })
      } catch (error) {
        // 404: gone; 409: somebody else (the reaper of testcontainers) is at it.
        const { statusCode } = error as { statusCode?: number }
        if (statusCode !== 404 && statusCode !== 409) throw error
      }
    }),
  )
}

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error))
