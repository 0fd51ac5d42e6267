/** The built-in agent of a fresh install, and the scripted one of demos and tests. All of it is in `echo-agent.ts`. */
export { createEchoAgent } from './echo-agent.ts';
