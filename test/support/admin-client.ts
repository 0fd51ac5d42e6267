/** What the operator's interface said no to. */
export class AdminFailure extends Error {
  override readonly name = 'AdminFailure';
  readonly status: number;
  readonly code: string;

  constructor(status: number, { code, message }: { readonly code: string; readonly message: string }) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The operator's interface, by method and path below `/admin`. */
export interface AdminClient {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: object): Promise<T>;
  delete(path: string): Promise<void>;
}

export const createAdminClient = (url: string, key: string): AdminClient => {
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`${url}/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok)
      throw new AdminFailure(response.status, (JSON.parse(text) as { error: { code: string; message: string } }).error);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  return {
    get: (path) => ask('GET', path),
    post: (path, body) => ask('POST', path, body),
    delete: (path) => ask('DELETE', path),
  };
};

export interface AuditEntry {
  readonly at: string;
  readonly kind: string;
  readonly actor: string;
  readonly subject: string;
}

export interface LaneEntry {
  readonly key: string;
  readonly agent: string;
  readonly owner: string;
  readonly waiting: number;
  readonly running: string | null;
  readonly paused: boolean;
}
