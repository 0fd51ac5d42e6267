import { createSealane, type SealaneOptions } from 'sealane';

import { openGrpcFront, openHttpFront } from './keyed-front.ts';
import { createScriptedAgent } from './scripted-agent.ts';

/** What the server offers: between them, the profiles reach every test of the kit. */
export const PROFILES = {
  full: { offers: true, extensions: [] },
  nocaps: { offers: false, extensions: [] },
  reqext: {
    offers: true,
    extensions: [{ uri: 'urn:a2a:tck:required-extension', description: 'Nobody may call without it.', required: true }],
  },
} as const;

export type Profile = keyof typeof PROFILES;

export const isProfile = (name: string): name is Profile => Object.hasOwn(PROFILES, name);

export interface ConformanceOptions {
  readonly profile: Profile;
  /** The card that a kit gets which names no version: the kit of 1.0 takes none with more than 1.0 in it. */
  readonly protocol: '1.0' | '0.3';
  /** 0 is any. */
  readonly port: number;
  readonly grpcPort?: number;
}

export interface ConformanceService {
  readonly url: string;
  readonly grpcPort: number | undefined;
  close(): Promise<void>;
}

const KEY = 'the-key-of-everybody-who-has-none';

const optionsOf = ({ profile, protocol }: ConformanceOptions, publicUrl: string): SealaneOptions => {
  const { offers, extensions } = PROFILES[profile];
  return {
    store: 'memory',
    agents: {
      scripted: {
        connector: createScriptedAgent(),
        default: true,
        public: true,
        concurrency: 64,
        title: 'Conformance',
        description: 'Does what the conformance kits ask for.',
        inputModes: ['text/plain', 'application/json'],
        outputModes: ['text/plain', 'application/json'],
        extensions,
      },
    },
    adminKey: KEY,
    // The kit of 0.3 checks that nobody without a key sees the extended card, but everybody has one here.
    capabilities: { streaming: offers, pushNotifications: offers, extendedCard: offers && protocol === '1.0' },
    cards: { form: protocol === '1.0' ? 'pure' : 'hybrid', security: 'none' },
    allowPrivateWebhooks: true,
    settings: { drainMs: 0, cancelGraceMs: 2000 },
    http: { publicUrl },
  };
};

export const openConformanceService = async (options: ConformanceOptions): Promise<ConformanceService> => {
  const front = await openHttpFront(KEY, options.port);
  const grpcFront = options.grpcPort === undefined ? undefined : await openGrpcFront(KEY, options.grpcPort);
  const url = `http://127.0.0.1:${front.port}`;
  const sealane = await createSealane(optionsOf(options, url));
  if (grpcFront) {
    const address = `127.0.0.1:${grpcFront.port}`;
    // Clients of either version take host and port; the kit of 0.3 takes nothing but a URL.
    const publicAddress = options.protocol === '0.3' ? `http://${address}` : address;
    grpcFront.serve(await sealane.listenGrpc({ publicAddress }));
  }
  front.serve(sealane.handler);
  return {
    url,
    grpcPort: grpcFront?.port,
    close: async () => {
      await sealane.close();
      await Promise.all([front.close(), grpcFront?.close()]);
    },
  };
};
