/** A server that may be stopped, killed and frozen, as faults do it. */
export interface ManagedServer {
  /** Its process on this machine. @throws while it does not run; so do all the others but `start`. */
  pid(): Promise<number>
  /** Stops it in order and waits until it has ended. @throws when it had to be killed. */
  stop(): Promise<void>
  /** Starts it again on the same port and data, and waits until it answers. */
  start(): Promise<void>
  /** SIGKILL, and waits until it has ended. */
  kill(): Promise<void>
  /** Stops its clock: its connections stay open and nothing is answered. */
  freeze(): Promise<void>
  thaw(): Promise<void>
}
