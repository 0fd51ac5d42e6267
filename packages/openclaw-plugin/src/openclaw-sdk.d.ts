/** What we use of the modules that OpenClaw offers to its plugins. They are no dependency: OpenClaw itself is there. */
declare module 'openclaw/plugin-sdk/webhook-request-guards' {
  /** Runs it as work of its own, which goes on when the request that led to it is over; a restart waits for it. */
  export const runDetachedWebhookWork: <T>(work: () => Promise<T>) => Promise<T>;
}
