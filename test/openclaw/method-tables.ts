import { createAgentRegistry } from '#engine';
import { createV03Binding } from '#http/rest/v03-binding';
import { createV1Binding } from '#http/rest/v1-binding';
import { createProtocol, type Dialect } from '#protocol';
import { nobody } from '#protocol/refusing-service.fixture';

/** Every call that Sealane serves over HTTP, taken from the tables that serve them. */
export interface ServedCall {
  readonly name: string;
  readonly verb: string;
  /** Below the service's base. */
  readonly path: string;
  readonly version: string;
  readonly body?: object;
}

export const servedCalls = (): readonly ServedCall[] => {
  const protocol = createProtocol({ service: nobody, registry: createAgentRegistry([]), version: '0' });
  const { v1, v03, v01, extensions } = protocol;
  const all = [v1, v03, v01].flatMap(({ versions }) => versions);
  const rest = [createV1Binding(protocol), createV03Binding(protocol)].flatMap(({ prefix, routes, versions }) =>
    routes.map(({ verb, path, body }): ServedCall => ({
      name: `${verb} ${prefix}${path}`,
      verb,
      path: `${prefix}${path.replaceAll(/\{\w+\}/g, 'nobody')}`,
      version: versions[0] ?? '',
      ...(body && { body: {} }),
    })),
  );
  return [
    ...[v1, v03, v01].flatMap((dialect) => rpcCalls(dialect, dialect.versions)),
    ...rpcCalls(extensions, all),
    ...rest,
  ];
};

const rpcCalls = ({ methods }: Dialect, versions: readonly string[]): readonly ServedCall[] =>
  versions.flatMap((version) =>
    [...methods.keys()].map((method) => ({
      name: `${method} in ${version}`,
      verb: 'POST',
      path: '',
      version,
      body: { jsonrpc: '2.0', id: 1, method, params: {} },
    })),
  );

/** How a service answers a call that says nothing of use: enough to see whether it knows the call. */
export const answerTo = async (call: ServedCall, base: string, key: string): Promise<string> => {
  const response = await fetch(`${base}${call.path}`, {
    method: call.verb,
    headers: {
      authorization: `Bearer ${key}`,
      'a2a-version': call.version,
      ...(call.body && { 'content-type': 'application/json' }),
    },
    ...(call.body && { body: JSON.stringify(call.body) }),
  });
  const { error } = (await response.json()) as { error?: { code?: number; status?: string } };
  return [response.status, response.headers.get('content-type'), error?.code ?? 'ok', error?.status ?? ''].join(' ');
};
