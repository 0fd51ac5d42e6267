/**
 * Sealane as a library: `createSealane({ store, agents })` runs the task service inside your process, and mounts it on
 * your server. Agents are your own connectors, the built-in ones, or executors of `@a2a-js/sdk`. Start with
 * `sealane.ts` (what runs), then `sealane-options.ts` (what you can set).
 */
export type {
  AgentConnector,
  Health,
  Permission,
  RunEvent,
  RunIo,
  RunRef,
  SeenTask,
  SessionScope,
  Turn,
  TurnEnd,
} from '#agents';
export { sessionKeyOf } from '#agents';
export { createCommandAgent } from '#agents/command/command-agent';
export { createEchoAgent } from '#agents/echo/echo-agent';
export { createOpenclawCliAgent } from '#agents/openclaw/cli/openclaw-cli-agent';
export type { EmbeddedOptions } from '#agents/openclaw/embedded/embedded-options';
export { createOpenclawEmbeddedAgent } from '#agents/openclaw/embedded/openclaw-embedded-agent';
export type { OpenclawRuntime } from '#agents/openclaw/embedded/openclaw-runtime';
export { createOpenclawGatewayAgent } from '#agents/openclaw/gateway/openclaw-gateway-agent';
export { adminKeyFile, ensureAdminKey } from '#config/admin-key';
export type { Artifact, Event, Json, JsonObject, Message, NewEvent, Part, State } from '#domain';
export { isInterrupted, isTerminal, SealaneError, STATES, textOf } from '#domain';
export type { Caller, EngineSettings, SendOutcome, SendRequest, StreamItem, TaskService } from '#engine';
export type { StoredTask } from '#store';
export {
  createSessionAgent,
  createSessionService,
  createTaskRecords,
  createTaskShelf,
  type SessionHost,
  type ShelfInput,
  type ShelfStatus,
  type ShelfTask,
  type TaskInput,
  type TaskRecords,
  type TaskShelf,
  type ViewTask,
} from '#views';
export type { GrpcListenOptions, Sealane } from './sealane.ts';
export { createSealane } from './sealane.ts';
export type { AgentOptions, SealaneOptions } from './sealane-options.ts';
export { VERSION } from './version.ts';
