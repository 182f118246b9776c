import { openServices, type Services } from '@sume-inbox/services'

/** Servers of a file's own, with the means to stop and freeze them. */
export interface OwnServers extends Services {
  readonly mysql: NonNullable<Services['mysql']>
  readonly redis: NonNullable<Services['redis']>
}

export async function openOwnServers(log?: (line: string) => void): Promise<OwnServers> {
  const services = await openServices({ private: true, ...(log === undefined ? {} : { log }) })
  const { mysql, redis } = services
  if (mysql === undefined || redis === undefined) throw new Error('these servers cannot be stopped')
  return { ...services, mysql, redis }
}
