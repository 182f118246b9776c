export { signDelivery } from './sign.ts'
