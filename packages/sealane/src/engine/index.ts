/**
 * The engine takes messages in, runs their turns one at a time per lane, and tells readers and followers what happened.
 * It knows the two ports (store and agents) and no implementation of them; wire formats belong to the protocol. Start
 * with `service/task-service.ts` (what it offers), then `engine.ts` (how the parts fit together) and `run/runner.ts`
 * (the life of one run).
 */
export type { AgentEntry, AgentExtension, AgentRegistry, AgentSkill } from './agent-registry.ts';
export { createAgentRegistry, mayUse } from './agent-registry.ts';
export { checkAgents } from './upkeep/check-agents.ts';
export type { Engine, EngineOptions } from './engine.ts';
export { createEngine } from './engine.ts';
export type { FollowerHandler, FollowerPace, HandlerIo } from './followers/follower-handler.ts';
export { logPages } from './feed/log-pages.ts';
export { insist, isPassing } from './insist.ts';
export type { EngineObserver, RunObserver } from './observer.ts';
export { type CheckWebhook, pushConfigOf } from './service/push-configs.ts';
export { DEFAULT_SETTINGS, type EngineSettings } from './settings.ts';
export type {
  Caller,
  FrameCache,
  ListRequest,
  NewPushConfig,
  PushConfig,
  PushConfigs,
  SendOutcome,
  SendRequest,
  StreamItem,
  TaskIdentity,
  TaskService,
} from './service/task-service.ts';
