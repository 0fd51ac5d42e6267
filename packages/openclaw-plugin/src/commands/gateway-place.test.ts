import { describe, expect, it } from 'vitest';

import { findPlace } from './gateway-place.ts';

const originOf = (gateway: object, env: NodeJS.ProcessEnv = {}): string => findPlace({ gateway }, '/s', env).origin;

describe('the place of the Gateway', () => {
  it('is where the configuration says, and the environment before it', () => {
    expect(originOf({})).toBe('http://127.0.0.1:18789');
    expect(originOf({ port: 1234, bind: 'lan' })).toBe('http://127.0.0.1:1234');
    expect(originOf({ port: 1234 }, { OPENCLAW_GATEWAY_PORT: '19001' })).toBe('http://127.0.0.1:19001');
    expect(originOf({ bind: 'custom', customBindHost: '10.0.0.7' })).toBe('http://10.0.0.7:18789');
  });

  it('has the certificate that the Gateway made for itself, or that it was given', () => {
    expect(findPlace({}, '/s', {}).certificate).toBeUndefined();
    const tls = { enabled: true };
    expect(findPlace({ gateway: { tls } }, '/s', {})).toMatchObject({
      url: 'https://127.0.0.1:18789/a2a',
      certificate: '/s/gateway/tls/gateway-cert.pem',
    });
    expect(findPlace({ gateway: { tls: { ...tls, certPath: '/c.pem' } } }, '/s', {}).certificate).toBe('/c.pem');
  });

  it('knows when the Gateway is on another machine', () => {
    expect(findPlace({ gateway: { mode: 'remote' } }, '/s', {}).isElsewhere).toBe(true);
  });
});
