import { createEchoAgent, createSealane, SealaneError, type SealaneOptions } from 'sealane';
import { openStore } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { HTTP_DEFAULTS } from '#http';

import { openService } from './support/service.ts';

const connector = createEchoAgent();
const agent = (given: object) => ({ agents: { mine: { connector, ...given } } });
const settings = (given: object) => ({ settings: given });

/** What programs in JavaScript may give, and a word of the error that tells them. */
const WRONG: Readonly<Record<string, readonly [given: object, word: string]>> = {
  'no store': [{ store: undefined }, 'sqlite:FILE'],
  'a store that is no storage': [{ store: {} }, 'TaskStore'],
  'no agents': [{ agents: undefined }, 'agents'],
  'an agent that is nothing': [{ agents: { mine: null } }, '"mine"'],
  'an agent that is a word': [{ agents: { mine: 'echo' } }, '"mine"'],
  'an agent without a connector': [{ agents: { mine: { default: true } } }, 'run()'],
  'a connector without stop': [{ agents: { mine: { ...connector, stop: undefined } } }, 'lacks stop()'],
  'two defaults': [{ agents: { a: { connector, default: true }, b: { connector, default: true } } }, 'both'],
  'a name that is empty': [{ agents: { '': connector } }, 'name'],
  'a name that is two segments of an address': [{ agents: { 'a/b': connector } }, 'name'],
  'a concurrency of 0': [agent({ concurrency: 0 }), 'concurrency'],
  'a concurrency that is no number': [agent({ concurrency: Number.NaN }), 'concurrency'],
  'half a run': [agent({ concurrency: 1.5 }), 'concurrency'],
  'a negative timeout': [agent({ taskTimeoutMs: -1 }), 'taskTimeoutMs'],
  'a timeout that is no number': [agent({ taskTimeoutMs: Number.NaN }), 'taskTimeoutMs'],
  'a recovery that nobody knows': [agent({ recovery: 'always' }), 'recovery'],
  'a reply that nobody knows': [agent({ reply: 'letter' }), 'reply'],
  'a negative setting': [settings({ cancelGraceMs: -1 }), 'settings.cancelGraceMs'],
  'a setting that is no number': [settings({ pollMs: Number.NaN }), 'settings.pollMs'],
  'a setting that is longer than a timer': [settings({ waitMs: 2 ** 31 }), 'settings.waitMs'],
  'a setting that nobody knows': [settings({ patienceMs: 5 }), 'settings.patienceMs'],
  'a prefix that means more than itself to a router': [{ http: { prefix: '/a/:b/*' } }, 'http.prefix'],
  'a prefix that is no part of an address': [{ http: { prefix: '/our tasks?' } }, 'http.prefix'],
  'a body of no bytes': [{ http: { bodyLimitBytes: 0 } }, 'http.bodyLimitBytes'],
  'a host where a list belongs': [{ http: { allowedHosts: 'example.com' } }, 'http.allowedHosts'],
  'proxies that are no list': [{ http: { trustedProxies: true } }, 'http.trustedProxies'],
  'a rate that is no number': [{ ratePerMinute: Number.NaN }, 'ratePerMinute'],
};

describe('a service', () => {
  it.each(Object.entries(WRONG))(
    'that is given %s does not start, and says what is wrong',
    async (_what, [given, word]) => {
      const starting = createSealane({ store: 'memory', agents: {}, ...given });
      // One that starts all the same must not outlive its test.
      starting.then((sealane) => sealane.close()).catch(() => undefined);
      await expect(starting).rejects.toMatchObject({ code: 'bad-config', message: expect.stringContaining(word) });
      await expect(starting).rejects.toBeInstanceOf(SealaneError);
    },
  );

  it('takes what is undefined for not given, as a variable that is not set', async () => {
    const unset = Object.fromEntries(Object.keys(HTTP_DEFAULTS).map((name) => [name, undefined]));
    await using service = await openService({ http: unset });
    expect((await service.client.send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('that is given wrong agents while it runs keeps those that it has', async () => {
    await using service = await openService();
    for (const agents of [{ echo: null }, { echo: { connector, concurrency: 0 } }]) {
      expect(() => service.sealane.replaceAgents(agents as unknown as SealaneOptions['agents'])).toThrow('"echo"');
    }
    expect((await service.client.send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('whose store fails while it starts gives its lease up again', async () => {
    await using storage = await openStore('memory');
    const left: string[] = [];
    const tasks = {
      ...storage.tasks,
      reap: () => Promise.reject(new Error('not today')),
      leave: async (instance: string) => void left.push(instance),
    };
    await expect(createSealane({ store: { ...storage, tasks }, agents: {} })).rejects.toThrow('not today');
    expect(left).toHaveLength(1);
  });

  it('whose store does not answer a goodbye is closed all the same', async () => {
    await using storage = await openStore('memory');
    const tasks = { ...storage.tasks, leave: () => new Promise<never>(() => undefined) };
    const sealane = await createSealane({
      store: { ...storage, tasks },
      agents: {},
      settings: { drainMs: 0, leaseMs: 1000 },
    });
    // An immediate end of the process is no end of the close.
    const alive = setInterval(() => undefined, 1000);
    await sealane.close();
    clearInterval(alive);
  });
});
