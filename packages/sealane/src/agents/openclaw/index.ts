/**
 * OpenClaw as an agent. `gateway/` speaks with a running Gateway over a WebSocket; start with
 * `gateway/openclaw-gateway-agent.ts`, then `gateway/run-turn.ts`. What does not depend on the way is here: which session a
 * conversation has, what of a message OpenClaw can take, and how the files it sends become parts. `cli/` starts the `openclaw` program for
 * each message, with the process handling of `agents/command/`. `embedded/` runs inside the Gateway, as a plugin of it.
 */
export type { EmbeddedOptions } from './embedded/embedded-options.ts';
export { createOpenclawEmbeddedAgent } from './embedded/openclaw-embedded-agent.ts';
export type { OpenclawRuntime } from './embedded/openclaw-runtime.ts';
export { createOpenclawGatewayAgent } from './gateway/openclaw-gateway-agent.ts';
export type { CliInput } from './cli/cli-options.ts';
export { createOpenclawCliAgent } from './cli/openclaw-cli-agent.ts';
export type { GatewayInput } from './gateway/gateway-options.ts';
