import type { SealaneOptions } from 'sealane';

import { findChannel } from './channel-config.ts';

/** What the service is given so that it can stand in for the channel. */
export interface Takeover {
  readonly givenKeys: NonNullable<SealaneOptions['givenKeys']>;
  /** The agent that each peer speaks with, by the name of its key. */
  readonly agentOf: ReadonlyMap<string, string>;
  /** How long a call is held that waits for its answer. */
  readonly waitMs: number;
  /** The address of the service for the cards, where the channel has one. */
  readonly publicUrl: string | undefined;
  /** Agents whose cards everybody may read, as everybody may read the card of the channel. */
  readonly isPublic: (agent: string) => boolean;
}

export interface TakeoverOptions {
  /** OpenClaw's configuration with every reference in it resolved. */
  readonly config: unknown;
  /** Where the service is below the origin of the Gateway. */
  readonly prefix: string;
  readonly routing: ChannelRuntime['channel']['routing'];
}

/** What we use of OpenClaw to find the agent that its bindings give a peer of the channel. */
export interface ChannelRuntime {
  readonly channel: {
    readonly routing: {
      resolveAgentRoute(route: {
        readonly cfg: unknown;
        readonly channel: string;
        readonly accountId: string;
        readonly peer: { readonly kind: 'direct'; readonly id: string };
      }): { readonly agentId: string };
    };
  };
}

/** Changes of these settings of OpenClaw change what is taken over. */
export const CHANNEL_SETTINGS = ['channels.a2a', 'bindings'] as const;

/** Peers keep their tokens where they are, in OpenClaw's configuration: they are given to the service at every start. */
export const createTakeover = ({ config, prefix, routing }: TakeoverOptions): Takeover | undefined => {
  const channel = findChannel(config);
  if (channel === undefined || channel.peers.length === 0) return undefined;
  const agentFor = (id: string): string =>
    routing.resolveAgentRoute({ cfg: config, channel: 'a2a', accountId: 'default', peer: { kind: 'direct', id } })
      .agentId;
  const agentOf = new Map(channel.peers.map(({ name }) => [name, agentFor(name)]));
  return {
    // Of two peers with one token the channel knows the first.
    givenKeys: channel.peers.toReversed().map(({ name, token }) => ({
      name,
      owner: ownerOf(name),
      secret: token,
      agents: [agentOf.get(name) ?? name],
      ratePerMinute: channel.ratePerMinute,
    })),
    agentOf,
    waitMs: channel.replyTimeoutMs,
    publicUrl: channel.advertisedUrl && `${channel.advertisedUrl.replace(/\/+$/, '')}${prefix}`,
    isPublic: (agent) => channel.exposeAgents.length === 0 || channel.exposeAgents.includes(agent),
  };
};

/** As OpenClaw calls the peer. No other key has this owner unless the operator gives it. */
export const ownerOf = (peer: string): string => `a2a:${peer}`;
