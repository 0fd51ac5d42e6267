import { createScriptedIo } from '../scripted-io.fixture.ts';
import { createOpenclawEmbeddedAgent } from './openclaw-embedded-agent.ts';
import type { AnyAgentEvent, EmbeddedRun, OpenclawRuntime, SessionEntry } from './openclaw-runtime.ts';

/** A connector inside an OpenClaw that does what the script says, and what a run of it tells. */
export const openScriptedRuntime = (
  script: (run: EmbeddedRun, tell: (stream: string, data: object) => void) => Promise<unknown>,
  { takesModes = true, hasAgent = true }: { readonly takesModes?: boolean; readonly hasAgent?: boolean } = {},
) => {
  const runs: EmbeddedRun[] = [];
  const sessions = new Map<string, SessionEntry>();
  const listeners = new Set<(event: AnyAgentEvent) => void>();
  const runtime: OpenclawRuntime = {
    config: { current: () => ({}) },
    events: {
      onAgentEvent: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    agent: {
      resolveAgentDir: () => '/agents/main',
      resolveAgentWorkspaceDir: () => '/workspace',
      runEmbeddedAgent: async (run) => {
        runs.push(run);
        return await script(run, (stream, data) => {
          for (const listener of listeners) {
            listener({ runId: run.runId, stream, data });
            listener({ runId: 'of somebody else', stream, data: { ...data, text: 'not ours' } });
          }
        });
      },
      session: {
        getSessionEntry: ({ sessionKey }) => sessions.get(sessionKey),
        patchSessionEntry: async ({ sessionKey, fallbackEntry, update }) => {
          const entry = sessions.get(sessionKey) ?? fallbackEntry;
          if (!entry) return null;
          const next = takesModes ? { ...entry, ...update(entry) } : entry;
          sessions.set(sessionKey, next);
          return next;
        },
      },
    },
  };
  const agent = createOpenclawEmbeddedAgent({
    runtime,
    agentId: 'main',
    isKnown: () => hasAgent,
    timeoutMs: 60_000,
    detached: (work) => work(),
  });
  const { io, stop, refs, events } = createScriptedIo();
  return { agent, io, stop, runs, sessions, refs, events, listeners };
};

export const said = (text: string, meta: object = {}): object => ({ payloads: [{ text }], meta });
