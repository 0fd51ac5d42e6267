import { decodeErrorInfo, decodeStatus } from '@a2a-js/sdk/errors/grpc';
import { describe, expect, it } from 'vitest';

import { type ErrorCode, SealaneError } from '#domain';
import { ERRORS, GRPC_STATUS } from '#protocol';

import { statusOf } from './status.ts';

const detailsOf = (error: SealaneError) => {
  const { code, details, metadata } = statusOf(error);
  const [encoded] = metadata.get('grpc-status-details-bin');
  const decoded = decodeStatus(Buffer.from(encoded as Buffer));
  expect([decoded.code, decoded.message]).toEqual([code, details]);
  return decoded.details;
};

describe('an error as a status of gRPC', () => {
  it.each(Object.keys(ERRORS) as ErrorCode[])('says of %s what the other bindings say', (code) => {
    const error = new SealaneError(code, 'What to do next.', { facts: { taskId: 'ä😀', empty: '' } });
    expect(statusOf(error)).toMatchObject({ code: GRPC_STATUS[ERRORS[code].grpc], details: 'What to do next.' });
    const [info] = detailsOf(error);
    expect(info?.typeUrl).toBe('type.googleapis.com/google.rpc.ErrorInfo');
    expect(decodeErrorInfo(info!.value)).toMatchObject({
      reason: ERRORS[code].reason,
      metadata: { taskId: 'ä😀', empty: '' },
    });
  });

  it('names the field at fault, and when to come back', () => {
    const wrong = new SealaneError('invalid-params', 'id is missing.', { facts: { field: 'id' } });
    expect(detailsOf(wrong).map(({ typeUrl, value }) => [typeUrl, value.toString('latin1')])).toEqual([
      [expect.stringContaining('ErrorInfo'), expect.any(String)],
      ['type.googleapis.com/google.rpc.BadRequest', '\n\x14\n\x02id\x12\x0eid is missing.'],
    ]);
    const [, retry] = detailsOf(new SealaneError('rate-limited', 'Wait.', { retryAfterMs: 90_250 }));
    expect(retry?.typeUrl).toBe('type.googleapis.com/google.rpc.RetryInfo');
    // Duration { seconds: 90, nanos: 250000000 }
    expect([...retry!.value]).toEqual([0x0a, 7, 0x08, 90, 0x10, 0x80, 0xe5, 0x9a, 0x77]);
  });

  it('has another status where a version of the protocol says so', () => {
    const error = new SealaneError('unsupported-operation', 'No.');
    expect(statusOf(error, { 'unsupported-operation': 'UNIMPLEMENTED' }).code).toBe(GRPC_STATUS.UNIMPLEMENTED);
  });

  it.each(['\ud800', '😀'.repeat(10_000), 'line\nbreak\0'])('can be written whatever the message is', (message) => {
    const { details, metadata } = statusOf(new SealaneError('invalid-params', message, { facts: { field: message } }));
    expect(() => encodeURI(details)).not.toThrow();
    expect(metadata.get('grpc-status-details-bin')[0]!.length).toBeLessThan(6000);
  });
});
