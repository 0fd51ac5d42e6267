import type { Logger } from 'pino';

import { runIdOf } from '#domain';
import type { EngineObserver, RunObserver } from '#engine';
import type { PushObserver } from '#push';

/**
 * Why something ended, for labels, spans and log lines. A connector may give any text as its reason, which could be what
 * somebody said, and each another label for ever; only a word is passed on.
 */
const wordOf = (reason: string | undefined): string | undefined =>
  reason === undefined || /^[A-Za-z][\w.-]{0,39}$/.test(reason) ? reason : 'other';

/** Several observers as one. Only the first that names a trace is heard. */
export const combineObservers = (observers: readonly EngineObserver[]): EngineObserver => ({
  admitted: (facts) => {
    for (const observer of observers) observer.admitted?.(facts);
  },
  refused: (facts) => {
    for (const observer of observers) observer.refused?.(facts);
  },
  taskEnded: ({ reason, ...facts }) => {
    const word = wordOf(reason);
    for (const observer of observers) observer.taskEnded?.({ ...facts, ...(word !== undefined && { reason: word }) });
  },
  appended: (facts) => {
    for (const observer of observers) observer.appended?.(facts);
  },
  problem: (what, error, facts) => {
    for (const observer of observers) observer.problem?.(what, error, facts);
  },
  runStarted: (run, connector) => {
    const watching: RunObserver[] = [];
    for (const observer of observers) {
      const watcher = observer.runStarted?.(run, connector);
      if (watcher) watching.push(watcher);
    }
    const traceparent = watching.find((watcher) => watcher.traceparent !== undefined)?.traceparent;
    return {
      ...(traceparent !== undefined && { traceparent }),
      ended: (state, reason) => watching.forEach((watcher) => watcher.ended(state, wordOf(reason))),
    };
  },
});

/** What goes into the log: problems always, failures as warnings, the ordinary course only at `debug`. */
export const createLogObserver = (log: Logger): EngineObserver => ({
  refused: (facts) => log.info(facts, 'refused'),
  taskEnded: (facts) => {
    if (facts.state === 'failed') log.warn(facts, 'task failed');
    else log.debug(facts, 'task ended');
  },
  problem: (what, error, facts) => log.error({ ...facts, err: error }, what),
  runStarted: ({ token, agent, attempt, turn }) => {
    if (!log.isLevelEnabled('debug')) return undefined;
    const facts = { taskId: token.taskId, runId: runIdOf(token.taskId, turn, attempt), agent, turn };
    log.debug(facts, 'run started');
    return { ended: (state, reason) => log.debug({ ...facts, state, reason }, 'run ended') };
  },
});

/** A webhook that fails is a warning once, and then only at `debug` until it answers again. */
export const createPushLogObserver = (log: Logger): PushObserver => ({
  attempted: ({ isRepeated, ...facts }) => {
    if (facts.outcome === 'delivered') log.debug(facts, 'webhook told');
    else if (isRepeated) log.debug(facts, 'webhook not told again');
    else log.warn(facts, 'webhook not told');
  },
  problem: (what, error) => log.error({ err: error }, what),
});
