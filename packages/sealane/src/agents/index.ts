/**
 * Agents: the port to something that does work, and the connectors that implement it. A connector knows its agent, and
 * nothing of tasks, lanes or stores. It reports through `RunIo`, and the engine decides. Start with
 * `agent-connector.ts`; `echo/` is the smallest connector, `command/` the fullest.
 */
export type {
  AgentConnector,
  Approval,
  ApprovalDecision,
  Approvals,
  Health,
  LookAhead,
  Permission,
  RunEvent,
  RunIo,
  RunRef,
  SessionKey,
  SessionScope,
  SeenTask,
  Turn,
  TurnEnd,
} from './agent-connector.ts';
export { closeConnector } from './close-connector.ts';
export { sessionKeyOf } from './session-key.ts';
