/** Runs until it is done (true) or until Ctrl-C (false). A second Ctrl-C ends the process at once. */
export const untilInterrupted = async (run: (signal: AbortSignal) => Promise<void>): Promise<boolean> => {
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once('SIGINT', onSignal);
  process.once('SIGTERM', onSignal);
  try {
    await run(stop.signal);
    return true;
  } catch (error) {
    if (stop.signal.aborted) return false;
    throw error;
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
};
