/** What an event is about: one job, or one run of a Format. */
export type Kind = 'job' | 'run'

/** How a job or run ended, by Sume's word. */
export type Status = 'OK' | 'ERROR'

/** The part of a webhook's body that this project depends on; the rest is the follow-up's business. */
export interface Envelope {
  /** What makes two deliveries the same event: the job id, or `run:` and the run's request id. */
  readonly dedupeKey: string
  readonly kind: Kind
  /** `job_id` or `run_id`. */
  readonly sumeId: string
  readonly requestId: string | null
  /** `job.completed` and the like; 1 to 64 printable ASCII characters. */
  readonly event: string
  readonly status: Status
}

/** Why a signed body cannot be read as an event. */
export type Unreadable =
  | 'not UTF-8'
  | 'not JSON'
  | 'not an object'
  | 'deeper than 100 levels'
  | 'no usable event'
  | 'status is neither OK nor ERROR'
  | 'kind unclear'
  | 'no usable job_id'
  | 'no usable run_id'
  | 'unusable request_id'

/** `odd` is set where the body was read although it is not quite what Sume promises; worth a log line. */
export type ParsedBody =
  | { readonly readable: true; readonly envelope: Envelope; readonly odd?: string }
  | { readonly readable: false; readonly reason: Unreadable }
