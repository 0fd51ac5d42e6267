import type { AgentEntry, AgentExtension, AgentRegistry } from '#engine';

import type { Capabilities } from '../capabilities.ts';
import type { CallContext } from '../dialect.ts';
import { type CardFacts, type CardVersion, factsOf, interfacesOf, type ServiceFacts } from './card-facts.ts';
import type { CardKeyStore } from '#store';
import { type CardKeys, createCardKeys } from './card-keys.ts';
import { type CardForm, type CardText, createCardTexts } from './card-texts.ts';
import { agentsFor, extendedFactsOf } from './extended-facts.ts';

export interface CardOptions {
  /** What callers get that ask for no version: a card that 0.3 clients can read as well, or that of 1.0 alone. */
  readonly form: 'hybrid' | 'pure';
  /** `none` declares no security, for test kits that send no keys. It lets nobody in. */
  readonly security: 'bearer' | 'none';
  /** `host:port` of the gRPC service for callers who reach us at this base address; undefined: there is none. */
  readonly grpcAddress: (baseUrl: string) => string | undefined;
  /** What is spoken there. */
  readonly grpcVersions: readonly CardVersion[];
  /** Where the keys are that cards are signed with; without it they are not signed. */
  readonly keys: CardKeyStore | undefined;
}

export const CARD_DEFAULTS: CardOptions = {
  form: 'hybrid',
  security: 'bearer',
  grpcAddress: () => undefined,
  grpcVersions: ['1.0'],
  keys: undefined,
};

export interface CardRequest {
  readonly agent: AgentEntry;
  /** Asked for at the root, where the default agent answers without being named. */
  readonly atRoot: boolean;
  /** The address under which this caller reaches the service, without a slash at its end. */
  readonly baseUrl: string;
  readonly form: CardForm;
}

type Asking = Pick<CallContext, 'caller' | 'agent' | 'baseUrl'>;

export interface Cards {
  /** The form for a caller that asks for this version of A2A, as it wrote it. A card is never refused for its version. */
  formFor(version: string | undefined): CardForm;
  /** The card of an agent. Whether the caller may see it is the binding's to find out. */
  show(request: CardRequest): Promise<CardText>;
  /** The card for a known caller, as A2A 1.0 JSON text. Throws when it may not use the agent of the address. */
  extended(asking: Asking): Promise<string>;
  /** The same as A2A 0.3 JSON text. */
  extendedV03(asking: Asking): Promise<string>;
  /** Undefined when cards are not signed. */
  readonly keys: CardKeys | undefined;
}

export interface CardsDeps {
  readonly registry: AgentRegistry;
  readonly version: string;
  readonly capabilities: Capabilities;
  /** What the service itself speaks beside A2A: every card declares it. */
  readonly extensions: readonly AgentExtension[];
  readonly options?: Partial<CardOptions> | undefined;
  readonly now?: (() => number) | undefined;
}

export const createCards = ({
  registry,
  version,
  capabilities,
  extensions,
  options,
  now = Date.now,
}: CardsDeps): Cards => {
  const { form, security, grpcAddress, grpcVersions, keys: store } = { ...CARD_DEFAULTS, ...options };
  const keys = store && createCardKeys(store, now);
  const texts = createCardTexts(keys);
  registry.onChange(() => texts.clear());

  const serviceAt = (baseUrl: string): ServiceFacts => ({
    version,
    capabilities,
    extensions,
    security,
    baseUrl,
    grpcAddress: grpcAddress(baseUrl),
    grpcVersions,
  });

  const find = (name: readonly string[], wanted: CardForm, service: ServiceFacts, facts: () => CardFacts) =>
    texts.find([service.grpcAddress ?? '', ...name], wanted, service.baseUrl, facts);

  const extend = async ({ caller, agent, baseUrl }: Asking, wanted: CardForm): Promise<string> => {
    const service = serviceAt(baseUrl());
    const usable = agentsFor(registry, caller);
    const name = ['extended', agent === undefined ? '' : `/${agent}`, ...usable.map((entry) => entry.name)];
    const facts = () => extendedFactsOf(usable, agent, registry.findDefault(), service);
    return (await find(name, wanted, service, facts)).text;
  };

  return {
    keys,
    formFor: (asked) => {
      const major = /^\s*(\d{1,4})(?:\.\d{1,4}){0,2}\s*$/.exec(asked ?? '')?.[1];
      if (major === '0') return '0.3';
      return major === '1' || form === 'pure' ? '1.0' : 'hybrid';
    },
    show: ({ agent, atRoot, baseUrl, form: wanted }) => {
      const service = serviceAt(baseUrl);
      const address = atRoot ? undefined : agent.name;
      const facts = () => factsOf(agent, service, interfacesOf(service, address));
      return find([atRoot ? 'root' : 'agent', agent.name], wanted, service, facts);
    },
    extended: (asking) => extend(asking, '1.0'),
    extendedV03: (asking) => extend(asking, '0.3'),
  };
};
