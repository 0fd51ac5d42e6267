import { Metadata } from '@grpc/grpc-js';

import type { ErrorCode, SealaneError } from '#domain';
import { errorDetailsOf, ERRORS, GRPC_STATUS, type GrpcStatus } from '#protocol';

/** What ends a call that failed. */
export interface FailureStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

/** Errors that have another status in one version of the protocol than the common table says. */
export type StatusExceptions = Readonly<Partial<Record<ErrorCode, GrpcStatus>>>;

/** Clients of gRPC commonly take 8 KiB of trailers; the message is in there up to three times. */
const MAX_MESSAGE_LENGTH = 500;

/**
 * An error as gRPC tells it: the status, the message, and in `grpc-status-details-bin` the same ErrorInfo, BadRequest
 * and RetryInfo that the other bindings carry, as a `google.rpc.Status`.
 */
export const statusOf = (error: SealaneError, exceptions: StatusExceptions = {}): FailureStatus => {
  const code = GRPC_STATUS[exceptions[error.code] ?? ERRORS[error.code].grpc];
  // Half a surrogate pair cannot be written into a header, and a cut may leave one.
  const details = error.message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', encodeStatus(code, details, errorDetailsOf(error)));
  return { code, details, metadata };
};

/** `google.rpc.Status`: code, message, and each detail as a `google.protobuf.Any`. */
export const encodeStatus = (code: number, message: string, details: readonly object[]): Buffer =>
  Buffer.concat([
    Buffer.from([0x08, code]),
    text(2, message),
    ...details.map((detail) => {
      const { '@type': type } = detail as { readonly '@type': string };
      const encode = DETAILS[type];
      return encode ? bytes(3, Buffer.concat([text(1, type), bytes(2, encode(detail as never))])) : EMPTY;
    }),
  ]);

interface ErrorInfo {
  readonly reason: string;
  readonly domain: string;
  readonly metadata: Readonly<Record<string, string>>;
}

interface BadRequest {
  readonly fieldViolations: readonly { readonly field: string; readonly description: string }[];
}

const encodeErrorInfo = ({ reason, domain, metadata }: ErrorInfo): Buffer =>
  Buffer.concat([
    text(1, reason),
    text(2, domain),
    ...Object.entries(metadata).map(([key, value]) => bytes(3, Buffer.concat([text(1, key), text(2, value)]))),
  ]);

const encodeBadRequest = ({ fieldViolations }: BadRequest): Buffer =>
  Buffer.concat(
    fieldViolations.map(({ field, description }) => bytes(1, Buffer.concat([text(1, field), text(2, description)]))),
  );

/** The delay is `google.protobuf.Duration`: seconds and nanoseconds. */
const encodeRetryInfo = ({ retryDelay }: { readonly retryDelay: string }): Buffer => {
  const millis = Math.round(Number.parseFloat(retryDelay) * 1000);
  return bytes(1, Buffer.concat([number(1, Math.floor(millis / 1000)), number(2, (millis % 1000) * 1_000_000)]));
};

const DETAILS: Readonly<Record<string, (members: never) => Buffer>> = {
  'type.googleapis.com/google.rpc.ErrorInfo': encodeErrorInfo,
  'type.googleapis.com/google.rpc.BadRequest': encodeBadRequest,
  'type.googleapis.com/google.rpc.RetryInfo': encodeRetryInfo,
};

const EMPTY = Buffer.alloc(0);

/** A varint: seven bits a byte, the lowest first, the high bit on all but the last. */
const varint = (value: number): Buffer => {
  const digits: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    digits.push((rest % 0x80) + 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return Buffer.from([...digits, rest]);
};

const number = (field: number, value: number): Buffer =>
  value === 0 ? EMPTY : Buffer.concat([Buffer.from([field << 3]), varint(value)]);

const bytes = (field: number, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([(field << 3) | 2]), varint(value.length), value]);

/** Texts of callers are in there, which may be of any length. */
const text = (field: number, value: string): Buffer =>
  value === '' ? EMPTY : bytes(field, Buffer.from(value.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()));
