import { createOpenclawGatewayAgent } from '#agents/openclaw/gateway/openclaw-gateway-agent';
import type { GatewayInput } from '#agents/openclaw/gateway/gateway-options';

import { type AgentOptions, type SealaneOptions } from '../../packages/sealane/src/sealane-options.ts';
import { openService, type TestService } from '../support/service.ts';
import { type FakeModel, startFakeModel } from './fake-model.ts';
import { type GatewayOptions, type GatewayProcess, openGateway } from './gateway-process.ts';

/** A fake model, a real Gateway that uses it, and services in front of it. */
export interface OpenclawWorld extends AsyncDisposable {
  readonly model: FakeModel;
  readonly gateway: GatewayProcess;
  /** A service in this process whose agent `main` is the Gateway's. */
  service(options?: WorldServiceOptions): Promise<TestService>;
}

export interface WorldServiceOptions {
  readonly connector?: Partial<GatewayInput>;
  readonly agent?: Partial<AgentOptions>;
  readonly sealane?: Partial<SealaneOptions>;
}

export const openOpenclawWorld = async (options: Omit<GatewayOptions, 'modelUrl'> = {}): Promise<OpenclawWorld> => {
  const model = await startFakeModel();
  const gateway = await openGateway({ ...options, modelUrl: model.url });
  return {
    model,
    gateway,
    service: ({ connector = {}, agent = {}, sealane = {} } = {}) =>
      openService({
        ...sealane,
        agents: {
          main: {
            connector: createOpenclawGatewayAgent({ url: gateway.url, token: gateway.token, ...connector }),
            default: true,
            ...agent,
          },
        },
        settings: { cancelGraceMs: 20_000, ...sealane.settings },
      }),
    [Symbol.asyncDispose]: async () => {
      await gateway.close();
      await model.close();
    },
  };
};
