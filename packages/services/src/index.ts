export type { ManagedServer } from './managed-server.ts'
export { haveChromium } from './local/chromium.ts'
export { openServices, type OpenServicesOptions, type Services } from './open-services.ts'
export { type Tie, tieProcesses } from './tie-processes.ts'
