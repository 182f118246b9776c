export { type Backoff, backoffMs } from './backoff.ts'
export { type Clock, elapsedMs, systemClock } from './clock.ts'
export { DeadlineError, withDeadline } from './deadline.ts'
export {
  ConfigError,
  type Env,
  headerName,
  integer,
  logLevel,
  readEnv,
  reconcileSpec,
  secrets,
  servicesSpec,
  sumeSpec,
  text,
  url,
  webhookUrlSpec,
} from './env.ts'
export { errorText, toError } from './errors.ts'
export { runProcess } from './process.ts'
export { makeRate, type Rate } from './rate.ts'
export {
  every,
  type Report,
  type RunningService,
  type Service,
  type ServiceObserver,
} from './service.ts'
