import { z } from 'zod';

const peerShape = z.object({ token: z.string().min(1), url: z.string().optional() });

const channelShape = z.object({
  enabled: z.boolean().optional(),
  advertisedUrl: z.string().optional(),
  replyTimeoutMs: z.number().optional(),
  rateLimitPerMinute: z.number().optional(),
  exposeAgents: z.array(z.string()).optional(),
  peers: z.record(z.string(), peerShape).optional(),
});

const configShape = z.object({ channels: z.object({ a2a: channelShape.optional() }).optional() });

/** The A2A channel that OpenClaw brings, as its configuration has it; what is not said is what the channel makes of it. */
export interface ChannelConfig {
  readonly isOn: boolean;
  readonly advertisedUrl: string | undefined;
  readonly replyTimeoutMs: number;
  /** `Infinity` is no limit. */
  readonly ratePerMinute: number;
  /** Agents that may be shown to everybody; none is all. */
  readonly exposeAgents: readonly string[];
  readonly peers: readonly ChannelPeer[];
}

export interface ChannelPeer {
  readonly name: string;
  readonly token: string;
  /** The channel can send messages to it. */
  readonly isSentTo: boolean;
}

const REPLY_TIMEOUT_MS = 120_000;
const RATE_PER_MINUTE = 30;

/** `undefined`: OpenClaw has no such channel here, or one that it would refuse itself. */
export const findChannel = (config: unknown): ChannelConfig | undefined => {
  const channel = configShape.safeParse(config).data?.channels?.a2a;
  if (channel === undefined) return undefined;
  const { enabled = true, rateLimitPerMinute = RATE_PER_MINUTE, peers = {} } = channel;
  return {
    isOn: enabled && Object.keys(peers).length > 0,
    advertisedUrl: channel.advertisedUrl,
    replyTimeoutMs: channel.replyTimeoutMs ?? REPLY_TIMEOUT_MS,
    ratePerMinute: rateLimitPerMinute === 0 ? Infinity : rateLimitPerMinute,
    exposeAgents: channel.exposeAgents ?? [],
    peers: Object.entries(peers).map(([name, { token, url }]) => ({ name, token, isSentTo: url !== undefined })),
  };
};
