import { setTimeout as sleep } from 'node:timers/promises'
import { defineFollowUps } from '@sume-inbox/shared/follow-ups'

// Long enough that one worker alone would not keep up with the batch.
export default defineFollowUps({ '*': () => sleep(50) })
