/**
 * The echo agent: the built-in agent of a fresh install, and the scripted agent of demos and tests. It runs inside the
 * process, needs no model and keeps nothing. A message that begins with `@` and a known word makes it fail, ask, stream
 * or wait. All of it is in `echo-agent.ts`.
 */
export { createEchoAgent } from './echo-agent.ts';
