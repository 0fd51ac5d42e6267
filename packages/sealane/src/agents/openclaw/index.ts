/**
 * OpenClaw as an agent, in three ways. `gateway/` speaks with a running Gateway over a WebSocket. `cli/` starts the
 * `openclaw` program for each message, with the process handling of `agents/command/`. `embedded/` runs inside the
 * Gateway, as a plugin of it. The files of this folder are for all three: the session of a conversation, the parts of a
 * message that OpenClaw accepts, and the files that it sends. Start with `gateway/openclaw-gateway-agent.ts`, then
 * `gateway/run-turn.ts`.
 */
export type { EmbeddedOptions } from './embedded/embedded-options.ts';
export { createOpenclawEmbeddedAgent } from './embedded/openclaw-embedded-agent.ts';
export type { OpenclawRuntime } from './embedded/openclaw-runtime.ts';
export { createOpenclawGatewayAgent } from './gateway/openclaw-gateway-agent.ts';
export type { CliInput } from './cli/cli-options.ts';
export { createOpenclawCliAgent } from './cli/openclaw-cli-agent.ts';
export type { GatewayInput } from './gateway/gateway-options.ts';
