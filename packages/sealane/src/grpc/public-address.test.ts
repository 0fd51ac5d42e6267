import { describe, expect, it } from 'vitest';

import { httpOriginBeside, publicGrpcAddress } from './public-address.ts';

const BASE = 'https://tasks.example.com/path';

describe('the gRPC address on a card', () => {
  it.each([
    ['is where the port listens', { host: '127.0.0.1', port: 7421 }, '127.0.0.1:7421'],
    ['has brackets around IPv6', { host: '::1', port: 7421 }, '[::1]:7421'],
    ['has the name of HTTP when the port listens everywhere', { host: '0.0.0.0', port: 1 }, 'tasks.example.com:1'],
    ['is none behind a proxy', { host: '127.0.0.1', port: 7421, publicUrl: BASE }, undefined],
    [
      'is what the operator says, whatever else is known',
      { host: '127.0.0.1', port: 7421, publicUrl: BASE, publicAddress: 'grpc.example.com:443' },
      'grpc.example.com:443',
    ],
  ])('%s', (_what, place, expected) => {
    expect(publicGrpcAddress(place, BASE)).toBe(expected);
  });
});

describe('the address of HTTP for a caller of gRPC', () => {
  it.each([
    [{ host: '127.0.0.1', port: 7420 }, 'elsewhere:7421', 'http://127.0.0.1:7420'],
    [{ host: '::1', port: 7420 }, '[::1]:7421', 'http://[::1]:7420'],
    [{ host: '0.0.0.0', port: 7420 }, 'box.local:7421', 'http://box.local:7420'],
    [{ host: '::', port: 7420 }, '[fd00::1]:7421', 'http://[fd00::1]:7420'],
    [{ host: '0.0.0.0', port: 7420 }, 'not a host', 'http://0.0.0.0:7420'],
    [{ host: '127.0.0.1', port: undefined }, '127.0.0.1:7421', 'http://127.0.0.1'],
    [{ host: '::1', port: undefined }, '[::1]:7421', 'http://[::1]'],
  ])('of %j reached at %s is %s', (http, authority, expected) => {
    expect(httpOriginBeside(http, authority)).toBe(expected);
  });
});
