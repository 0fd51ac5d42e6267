import { expect, test } from 'vitest';

import { connectionError } from './api-error.ts';

const failed = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });

test.each([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])('a certificate that is not trusted (%s) is told with the way to trust it, and never tried again', (code) => {
  expect(connectionError(failed(code), 'https://tasks.example')).toMatchObject({
    exitCode: 6,
    isTransient: false,
    message: `The certificate of https://tasks.example is not trusted (${code}).`,
    next: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
  });
});

test('a line that broke may be tried again, a host that does not exist may not', () => {
  expect(connectionError(failed('ECONNRESET'), 'http://x')).toMatchObject({ isTransient: true });
  expect(connectionError(failed('UND_ERR_SOCKET'), 'http://x')).toMatchObject({ isTransient: true });
  expect(connectionError(failed('ENOTFOUND'), 'http://x')).toMatchObject({
    isTransient: false,
    next: expect.stringContaining('SEALANE_URL'),
  });
});

test('of several addresses that were tried, the first cause is told', () => {
  const error = new TypeError('fetch failed', {
    cause: new AggregateError([Object.assign(new Error('x'), { code: 'ECONNREFUSED' })]),
  });
  expect(connectionError(error, 'http://localhost:1').message).toContain('not running there');
});
