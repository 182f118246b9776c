/** What a scenario is told. */
export interface BenchOptions {
  /** A short form that only shows that it works: its figures mean nothing. */
  readonly smoke: boolean
  /** Told of each step, since some take minutes. */
  readonly say: (line: string) => void
}

/** One measure of design section 11, taken side by side with the bare driver. */
export interface Scenario {
  readonly name: string
  readonly summary: string
  /** @returns whether the measure is reached; always `true` for a smoke run. */
  run(options: BenchOptions): Promise<boolean>
}
