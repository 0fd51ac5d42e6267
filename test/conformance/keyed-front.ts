import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import {
  type ClientHttp2Stream,
  connect,
  createServer as createHttp2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

/** A listener on loopback that passes calls on. */
export interface Front {
  readonly port: number;
  close(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';

/**
 * The kits send no key, and Sealane has no mode without one. So these servers stand in front of it, and give a key to
 * each call that has none. They listen before there is a Sealane, because its cards name their addresses.
 */
export const openHttpFront = async (
  key: string,
  port: number,
): Promise<Front & { serve(app: RequestListener): void }> => {
  const server: Server = createServer().listen(port, LOOPBACK);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    serve: (app) => {
      server.on('request', (request, response) => {
        request.headers.authorization ??= `Bearer ${key}`;
        app(request, response);
      });
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

/** The same for gRPC. It knows HTTP/2 only: bytes and trailers go through as they are. */
export const openGrpcFront = async (key: string, port: number): Promise<Front & { serve(address: string): void }> => {
  const server = createHttp2Server().listen(port, LOOPBACK);
  await once(server, 'listening');
  const sessions = new Set<Http2Session>();
  const track = (session: Http2Session): void => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  };
  server.on('session', track);
  return {
    port: (server.address() as AddressInfo).port,
    serve: (address) => {
      const upstream = connect(`http://${address}`);
      track(upstream);
      server.on('stream', (stream, headers) => {
        passOn(stream, upstream.request({ authorization: `Bearer ${key}`, ...headers }));
      });
    },
    close: async () => {
      server.close();
      for (const session of sessions) session.destroy();
      await once(server, 'close');
    },
  };
};

const passOn = (stream: ServerHttp2Stream, call: ClientHttp2Stream): void => {
  let trailers: IncomingHttpHeaders = {};
  call.on('response', (headers, flags) => {
    const isWhole = (flags & END_STREAM) !== 0;
    if (!stream.destroyed) stream.respond(headers, { endStream: isWhole, waitForTrailers: !isWhole });
  });
  call.on('trailers', (end) => (trailers = end));
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('close', () => call.close(stream.rstCode));
  stream.on('error', () => call.close());
  call.on('error', () => stream.close());
  stream.pipe(call);
  call.pipe(stream);
};

/** The flag of HTTP/2 that says that nothing follows these headers: a refusal without a body. */
const END_STREAM = 0x1;
