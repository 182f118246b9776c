export { type DeliveryAnswer, sendDelivery } from './send-delivery.ts'
export { signDelivery } from './sign.ts'
