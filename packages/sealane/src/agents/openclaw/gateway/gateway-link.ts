import { setTimeout as delay } from 'node:timers/promises';

import { GatewayError, isUnreachable } from './gateway-error.ts';
import { type AgentEvent, agentEventOf } from './agent-event.ts';
import { type GatewayEvent, type GatewaySocket, openGatewaySocket, type SocketOptions } from './gateway-socket.ts';

/** The one connection of a connector, made when somebody needs it and made again when it broke. */
export interface GatewayLink {
  /**
   * The connection, as soon as there is one. A Gateway that cannot be reached is tried again and again until the
   * signal aborts; one that refuses us is not.
   */
  connected(
    signal: AbortSignal,
    options?: { readonly tries?: number; readonly onTrouble?: (why: string) => void },
  ): Promise<GatewaySocket>;
  /** The connection if there is one now. */
  current(): GatewaySocket | undefined;
  /** Hears of everything that happens in a session, over all connections, until it is disposed. */
  watch(sessionKey: string, listener: (event: AgentEvent) => void): Disposable;
  close(): void;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 3000;
/** A connection that breaks sooner counts as a failure: a Gateway that lets us in and then closes would be stormed. */
const STEADY_MS = 5000;

export const createGatewayLink = (options: Omit<SocketOptions, 'onEvent'>): GatewayLink => {
  const watchers = new Map<string, Set<(event: AgentEvent) => void>>();
  const closing = new AbortController();
  let socket: GatewaySocket | undefined;
  let connecting: Promise<GatewaySocket> | undefined;
  let failures = 0;
  let notBefore = 0;
  let isFlapping = false;

  const backOff = (): void => {
    notBefore = performance.now() + Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
    failures += 1;
  };

  const onEvent = ({ event, payload }: GatewayEvent): void => {
    if (event !== 'agent') return;
    const happened = agentEventOf(payload);
    if (!happened) return;
    for (const listener of watchers.get(happened.sessionKey) ?? []) listener(happened);
  };

  const open = async (): Promise<GatewaySocket> => {
    try {
      const opened = await openGatewaySocket({ ...options, onEvent, giveUp: closing.signal });
      if (closing.signal.aborted) opened.close();
      socket = opened;
      void opened.whenClosed().promise.then(() => {
        if (socket === opened) socket = undefined;
        isFlapping = performance.now() - opened.openedAt < STEADY_MS;
        if (isFlapping) backOff();
        else failures = 0;
      });
      return opened;
    } catch (error) {
      isFlapping = false;
      backOff();
      throw error;
    } finally {
      connecting = undefined;
    }
  };

  return {
    connected: async (signal, { tries = Number.POSITIVE_INFINITY, onTrouble } = {}) => {
      const stop = AbortSignal.any([signal, closing.signal]);
      const backedOff = async (): Promise<void> =>
        await delay(Math.max(0, notBefore - performance.now()), undefined, { signal: stop }).catch(() => undefined);
      if (!socket && isFlapping) await backedOff();
      for (let tried = 1; ; tried += 1) {
        if (closing.signal.aborted)
          throw new GatewayError('closed', 'The agent was closed while it worked. Send the message again.');
        signal.throwIfAborted();
        if (socket) return socket;
        try {
          return await untilAborted((connecting ??= open()), stop);
        } catch (error) {
          if (!isUnreachable(error) || tried >= tries) throw error;
          onTrouble?.(error.message);
        }
        await backedOff();
      }
    },
    current: () => socket,
    watch: (sessionKey, listener) => {
      const listeners = watchers.get(sessionKey) ?? new Set();
      watchers.set(sessionKey, listeners.add(listener));
      return {
        [Symbol.dispose]: () => {
          listeners.delete(listener);
          if (listeners.size === 0) watchers.delete(sessionKey);
        },
      };
    },
    close: () => {
      closing.abort();
      socket?.close();
    },
  };
};

const untilAborted = async <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> => {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};
