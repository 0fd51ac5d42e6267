/** Where the gRPC port is, and what the operator says about how clients reach it. */
export interface GrpcPlace {
  /** The host that was asked for, as it was written: `127.0.0.1`, `::1`, `0.0.0.0`. */
  readonly host: string;
  readonly port: number;
  /** `host:port` for clients; wins over everything that can be guessed. */
  readonly publicAddress?: string | undefined;
  /** Where clients reach HTTP, when the operator has said so. */
  readonly publicUrl?: string | undefined;
}

const isEverywhere = (host: string): boolean => host === '0.0.0.0' || host === '::';

const bracketed = (host: string): string => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host);

/** `host:port`, with the brackets that IPv6 needs. */
export const joinAddress = (host: string, port: number): string => `${bracketed(host)}:${port}`;

/**
 * The `host:port` that cards name. A port on all addresses is reached under the name by which the caller reached HTTP.
 * Behind a proxy (a public URL, and a port on one address) only the operator can know: cards name none rather than one
 * that nobody outside can reach.
 */
export const publicGrpcAddress = (
  { host, port, publicAddress, publicUrl }: GrpcPlace,
  baseUrl: string,
): string | undefined => {
  if (publicAddress !== undefined) return publicAddress;
  if (isEverywhere(host)) return `${new URL(baseUrl).hostname}:${port}`;
  return publicUrl === undefined ? joinAddress(host, port) : undefined;
};

/**
 * The origin of HTTP for a caller that reached gRPC at `authority`. When HTTP listens on all addresses, it is the name
 * that the caller used; without a port it is mounted in another server, and the default port is the best guess.
 */
export const httpOriginBeside = (
  { host, port }: { readonly host: string; readonly port: number | undefined },
  authority: string,
): string => {
  const reached = `http://${authority}`;
  const name = isEverywhere(host) && URL.canParse(reached) ? new URL(reached).hostname : host;
  return `http://${port === undefined ? bracketed(name) : joinAddress(name, port)}`;
};
