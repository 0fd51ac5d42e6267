/**
 * A signal for one run that also ends with something that lives longer, as its connector does. `AbortSignal.any` is not
 * for that: while somebody listens to its signal, the source that lives longest keeps it, and everything of the run.
 */
export const eitherSignal = (...sources: readonly AbortSignal[]): { readonly signal: AbortSignal } & Disposable => {
  const own = new AbortController();
  const onAbort = (): void => own.abort(sources.find(({ aborted }) => aborted)?.reason);
  for (const source of sources) source.addEventListener('abort', onAbort);
  if (sources.some(({ aborted }) => aborted)) onAbort();
  return {
    signal: own.signal,
    [Symbol.dispose]: () => {
      for (const source of sources) source.removeEventListener('abort', onAbort);
    },
  };
};
