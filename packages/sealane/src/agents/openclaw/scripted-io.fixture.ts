import type { RunEvent, RunIo, RunRef } from '../agent-connector.ts';

/** The engine's side of a run, which keeps what the run remembers and says. */
export const createScriptedIo = () => {
  const stop = new AbortController();
  const refs: RunRef[] = [];
  const events: RunEvent[] = [];
  const io: RunIo = {
    signal: stop.signal,
    attempt: 1,
    remember: async (ref) => void refs.push(ref),
    emit: async (event) => void events.push(event),
    inbox: (async function* () {})(),
    say: (text) => ({ messageId: 'a', role: 'ROLE_AGENT', parts: [{ text }] }),
  };
  return { io, stop, refs, events };
};
