import { CHANNEL_CALLS, type ChannelConfig } from '../channel/index.ts';
import type { GatewayPlace } from './gateway-place.ts';

const ANSWER_MS = 5000;

/** Whether the Gateway answers at all. */
export const isGatewayUp = ({ origin }: GatewayPlace): Promise<boolean> =>
  fetch(`${origin}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
    ({ status }) => status === 200,
    () => false,
  );

/** What the service says of itself; undefined when somebody else answers at its address, or nobody. */
export const findReadiness = async ({ url }: GatewayPlace): Promise<'ready' | 'not ready' | undefined> => {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS) });
    if (!response.headers.get('content-type')?.includes('json')) return undefined;
    return response.ok ? 'ready' : 'not ready';
  } catch {
    return undefined;
  }
};

export type Answerer = 'channel' | 'sealane' | 'nobody';

/**
 * Who takes the calls of the channel's peers now. Asked for a task that does not exist the two answer alike, but only
 * the service says more than a code and a message. Without a token that we know they refuse in words of their own.
 */
export const findAnswerer = async ({ origin }: GatewayPlace, channel: ChannelConfig | undefined): Promise<Answerer> => {
  // A reference that is not resolved here is resolved where the Gateway runs.
  const token = channel?.peers.find((peer) => !peer.token.includes('${'))?.token;
  try {
    const response = await fetch(`${origin}${CHANNEL_CALLS}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'who-answers' } }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const { error } = (await response.json()) as { readonly error?: unknown };
    if (response.status === 401) {
      if (typeof error === 'string') return 'channel';
      return token === undefined ? 'sealane' : 'nobody';
    }
    if (response.status === 429) return 'sealane';
    if (response.status !== 200 || typeof error !== 'object' || error === null) return 'nobody';
    return 'data' in error ? 'sealane' : 'channel';
  } catch {
    return 'nobody';
  }
};
