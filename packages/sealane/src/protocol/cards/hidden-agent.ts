import { SealaneError } from '#domain';

/** An unknown agent and one that this caller may not know about look the same. `undefined` is the default agent. */
export const hiddenAgent = (name: string | undefined): SealaneError =>
  new SealaneError(
    'agent-not-found',
    name === undefined
      ? 'There is no public card here: send a key that may use an agent, or have its operator mark the default agent public.'
      : `There is no public card of an agent "${name.slice(0, 100)}": send a key that may use it, or have its operator mark it public.`,
  );
