import type { Socket } from 'node:net';

import type { FastifyRequest } from 'fastify';

import { authorityOf, forwardedOf } from './forwarded.ts';
import type { HttpOptions } from './http-deps.ts';

/**
 * The address under which this caller reaches the service, without a slash at its end: what the operator says, else
 * what a trusted proxy says, else what the caller wrote. Hosts have been checked by then; one that is no host at all
 * is replaced by the address that the connection came in at.
 */
export const baseUrlOf = (
  { raw }: Pick<FastifyRequest, 'raw'>,
  { publicUrl, prefix, trustedProxies }: Pick<HttpOptions, 'publicUrl' | 'prefix' | 'trustedProxies'>,
): string => {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const told = forwardedOf(raw, trustedProxies);
  const proto = told.proto ?? ('encrypted' in raw.socket ? 'https' : 'http');
  const host = told.host ?? authorityOf(raw.headers.host) ?? localAddressOf(raw.socket);
  // The origin has no port where the usual one is meant.
  return `${new URL(`${proto}://${host}`).origin}${told.prefix ?? ''}${prefix}`;
};

/** The headers that the address depends on, for caches. */
export const baseUrlHeaders = ({
  publicUrl,
  trustedProxies,
}: Pick<HttpOptions, 'publicUrl' | 'trustedProxies'>): readonly string[] => {
  if (publicUrl !== undefined) return [];
  return trustedProxies.length === 0 ? ['Host'] : ['Host', ...FORWARDED_HEADERS];
};

const FORWARDED_HEADERS = [
  'Forwarded',
  'X-Forwarded-Proto',
  'X-Forwarded-Host',
  'X-Forwarded-Port',
  'X-Forwarded-Prefix',
];

const localAddressOf = ({ localAddress = '127.0.0.1', localPort }: Socket): string => {
  const address = localAddress.startsWith('::ffff:') ? localAddress.slice(7) : localAddress;
  const host = address.includes(':') ? `[${address.replace(/%.*$/, '')}]` : address;
  return localPort === undefined ? host : `${host}:${localPort}`;
};
