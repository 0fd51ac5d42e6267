import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { baseUrlOf } from './base-url.ts';
import { authorityOf, type Forwarded, forwardedOf } from './forwarded.ts';
import { blockListOf, isTrustedProxy } from './proxy-trust.ts';

const from = (headers: IncomingHttpHeaders, remoteAddress = '127.0.0.1'): IncomingMessage =>
  ({ headers, socket: { remoteAddress, localAddress: '127.0.0.1', localPort: 7420 } }) as unknown as IncomingMessage;
const read = (headers: IncomingHttpHeaders): Forwarded => forwardedOf(from(headers), ['loopback']);
const base = (headers: IncomingHttpHeaders, trustedProxies = ['loopback'], prefix = ''): string =>
  baseUrlOf({ raw: from(headers) }, { publicUrl: undefined, prefix, trustedProxies });

describe('a trusted proxy', () => {
  it('is known by its address, or the range it is in, in either way of writing it', () => {
    const list = ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', 'loopback'];
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.7', '2001:db8::9', '127.8.8.8', '::1'])
      expect(isTrustedProxy(address, list), address).toBe(true);
    for (const address of ['11.0.0.1', '192.0.2.8', '2001:db9::1', '', 'localhost', undefined])
      expect(isTrustedProxy(address, list), address).toBe(false);
    expect(isTrustedProxy('127.0.0.1', [])).toBe(false);
  });

  it('that nobody could be is refused', () => {
    for (const entry of ['localhost', '10.0.0.0/33', '10.0.0/8', '10.0.0.0/', '10.0.0.0/x', '::/129', ''])
      expect(() => blockListOf([entry]), entry).toThrow('trustedProxies');
  });
});

describe('what a proxy says', () => {
  it('is read from the usual headers and from the standard one', () => {
    expect(
      read({ 'x-forwarded-proto': 'https', 'x-forwarded-host': 'A.example', 'x-forwarded-prefix': '/x/y/' }),
    ).toEqual({ proto: 'https', host: 'a.example', prefix: '/x/y' });
    expect(read({ 'x-forwarded-host': 'a.example', 'x-forwarded-port': '8443' }).host).toBe('a.example:8443');
    expect(read({ 'x-forwarded-host': 'a.example:1', 'x-forwarded-port': '8443' }).host).toBe('a.example:1');
    expect(read({ forwarded: 'for=192.0.2.1;proto=https;Host="a.example:8443"' })).toEqual({
      proto: 'https',
      host: 'a.example:8443',
    });
    expect(read({ forwarded: 'for=_x; by="[2001:db8::1]:80" ; host="[2001:db8::2]"' }).host).toBe('[2001:db8::2]');
  });

  it('counts from the last of several proxies only, which is ours', () => {
    expect(read({ forwarded: 'host=evil.example;proto=http, host=a.example;proto=https' })).toEqual({
      proto: 'https',
      host: 'a.example',
    });
    expect(read({ 'x-forwarded-host': 'evil.example, a.example' }).host).toBe('a.example');
  });

  it('does not count where it contradicts itself', () => {
    const headers = { forwarded: 'host=evil.example;proto=https', 'x-forwarded-host': 'a.example' };
    expect(read(headers)).toEqual({ proto: 'https' });
  });

  it('does not count from anybody else', () => {
    const headers = { 'x-forwarded-host': 'a.example', forwarded: 'host=a.example', 'x-forwarded-proto': 'https' };
    expect(forwardedOf(from(headers, '192.0.2.1'), ['loopback'])).toEqual({});
    expect(forwardedOf(from(headers), [])).toEqual({});
  });

  it('never becomes anything but a host and a plain path', () => {
    const junk = [
      'a b',
      'a.example/x',
      'u@a.example',
      'a.example:',
      'a:123456',
      '[::1',
      '"',
      '',
      '..',
      '<x>',
      'a\\b',
      '-a',
      'a?b',
    ];
    for (const host of junk) expect(authorityOf(host), host).toBeUndefined();
    for (const path of ['x', '//x', '/../x', '/x/..', '/x?y', '/x#y', '/"', '/%2e', '/', '/a b', '/./x'])
      expect(read({ 'x-forwarded-prefix': path }), path).toEqual({});
    for (const proto of ['ftp', 'javascript', 'https:', '']) expect(read({ 'x-forwarded-proto': proto })).toEqual({});
  });
});

describe('the base address', () => {
  it('is what the proxy says, without the port that is meant anyway', () => {
    const host = 'sealane:7420';
    expect(
      base({ host, 'x-forwarded-proto': 'https', 'x-forwarded-host': 'a.example', 'x-forwarded-port': '443' }),
    ).toBe('https://a.example');
    expect(base({ host, 'x-forwarded-proto': 'https', 'x-forwarded-prefix': '/tasks' }, undefined, '/a')).toBe(
      'https://sealane:7420/tasks/a',
    );
    expect(base({ host, 'x-forwarded-host': 'a.example' }, [])).toBe('http://sealane:7420');
  });

  it('is where the connection came in when the host is none', () => {
    for (const host of ['a b', '"><script>', 'x/../y', undefined]) {
      expect(base({ ...(host !== undefined && { host }) })).toBe('http://127.0.0.1:7420');
    }
  });

  it('is an address whatever the headers say', () => {
    const text = fc.string({ unit: 'binary-ascii' });
    fc.assert(
      fc.property(text, text, text, text, text, text, (host, forwarded, ...given) => {
        const [proto, name, port, prefix] = given;
        const url = base({
          host,
          forwarded,
          'x-forwarded-proto': proto,
          'x-forwarded-host': name,
          'x-forwarded-port': port,
          'x-forwarded-prefix': prefix,
        });
        expect(url).toMatch(/^https?:\/\/[\w.:[\]-]+[\w/.~-]*$/);
        expect(new URL(url).href.replace(/\/$/, '')).toBe(url);
      }),
    );
  });
});
