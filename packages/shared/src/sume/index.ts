export {
  type CatalogModel,
  makeSumeClient,
  type Receipt,
  type SumeClient,
  type SumeOptions,
  type SumeStatus,
} from './client.ts'
export { hasEnded, hasResult, isKnown, polledEvent, type PolledEvent } from './polled-event.ts'
export { type DeliveryAnswer, sendDelivery } from './send-delivery.ts'
export { signDelivery } from './sign.ts'
export { SumeError } from './sume-error.ts'
