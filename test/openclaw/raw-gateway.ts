/** A connection to a Gateway by hand, with any rights: for operators in tests, and to measure without Sealane. */
export interface RawGateway extends Disposable {
  request<T>(method: string, params: object): Promise<T>;
  /** The next event that is like that, from now on. */
  event<T>(isWanted: (name: string, payload: T) => boolean): Promise<T>;
  /** The second answer of the `agent` method. */
  agent(params: object): Promise<unknown>;
}

interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly ok?: boolean;
  readonly event?: string;
  readonly payload?: { readonly status?: string };
  readonly error?: { readonly message: string };
}

export const openRawGateway = async (options: {
  readonly url: string;
  readonly token: string;
  readonly scopes: readonly string[];
  readonly caps?: readonly string[];
}): Promise<RawGateway> => {
  const socket = new WebSocket(options.url);
  const answers = new Map<string, (frame: Frame) => void>();
  const listeners = new Set<(name: string, payload: unknown) => void>();
  let requests = 0;
  const ask = (method: string, params: object, onAnswer: (frame: Frame) => void): void => {
    requests += 1;
    answers.set(String(requests), onAnswer);
    socket.send(JSON.stringify({ type: 'req', id: String(requests), method, params }));
  };
  const request = <T>(method: string, params: object): Promise<T> =>
    new Promise((resolve, reject) =>
      ask(method, params, ({ ok, payload, error }) => (ok ? resolve(payload as T) : reject(new Error(error?.message)))),
    );
  const challenged = new Promise<void>((resolve, reject) => {
    socket.addEventListener('error', () => reject(new Error('The Gateway cannot be reached.')));
    socket.addEventListener('message', ({ data }) => {
      const frame = JSON.parse(String(data)) as Frame;
      if (frame.event === 'connect.challenge') resolve();
      else if (frame.type === 'res') answers.get(frame.id ?? '')?.(frame);
      else for (const listener of listeners) listener(frame.event ?? '', frame.payload);
    });
  });
  await challenged;
  await request('connect', {
    minProtocol: 4,
    maxProtocol: 4,
    client: { id: 'gateway-client', version: '0.1.0', platform: process.platform, mode: 'backend' },
    role: 'operator',
    scopes: options.scopes,
    caps: options.caps ?? [],
    auth: { token: options.token },
  });
  return {
    request,
    event: <T>(isWanted: (name: string, payload: T) => boolean) =>
      new Promise<T>((resolve) => {
        const listener = (name: string, payload: unknown): void => {
          if (!isWanted(name, payload as T)) return;
          listeners.delete(listener);
          resolve(payload as T);
        };
        listeners.add(listener);
      }),
    agent: (params) =>
      new Promise((resolve, reject) =>
        ask('agent', params, ({ ok, payload, error }) => {
          if (!ok) reject(new Error(error?.message));
          else if (payload?.status !== 'accepted') resolve(payload);
        }),
      ),
    [Symbol.dispose]: () => socket.close(),
  };
};
