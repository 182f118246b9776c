/** What the receiver made of a delivery. `note` is for our log, never for the sender. */
export type Receipt =
  | {
      readonly receipt: 'accepted' | 'duplicate'
      readonly dedupeKey: string
      readonly event: string
      /** Whether a job was added; only a first delivery asks for one. */
      readonly enqueued: boolean
      readonly note?: string
    }
  | { readonly receipt: 'quarantined'; readonly note: string }
  | { readonly receipt: 'unsigned'; readonly note: string }
  | { readonly receipt: 'unavailable'; readonly error: Error }
