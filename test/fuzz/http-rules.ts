import type { HttpAnswer } from './answer.ts';
import { type HttpRequest, isResumed } from './fuzz-request.ts';
import { isStream } from './response-reader.ts';
import { INSIDES, type Secrets, type Verdict } from './verdict.ts';

type Members = Readonly<Record<string, unknown>>;

interface WireError {
  readonly code?: unknown;
  readonly message?: unknown;
}

export const judgeHttp = (request: HttpRequest, answer: HttpAnswer, secrets: Secrets): Verdict => {
  const { status, headers, body } = answer;
  const complaints: string[] = [];
  const secret = secrets.findIn(body) ?? secrets.findIn(Buffer.from([...headers.values()].join('\n'), 'latin1'));
  if (secret !== undefined) complaints.push(`the answer tells what belongs to somebody else: ${secret}`);
  if (request.path.startsWith('/admin/') && status < 400) complaints.push("an address of the operator's took the call");
  if (request.method === 'HEAD' || status === 204 || status === 304) {
    return { complaints: status < 500 ? complaints : [...complaints, `the status is ${status}`], word: String(status) };
  }
  const text = body.toString('utf8');
  const inside = INSIDES.exec(text)?.[0];
  if (inside !== undefined) complaints.push(`the answer shows the inside of the service: ${JSON.stringify(inside)}`);

  // Whoever has seen everything already is told nothing until something happens.
  if (isStream(headers) && !/^data:/m.test(text) && isResumed(request)) return { complaints, word: 'ok' };
  const value = isStream(headers) ? parse(firstDataOf(text)) : parse(text);
  if (value === undefined) return { complaints: [...complaints, 'the answer is no JSON'], word: 'no JSON' };
  if (!isStream(headers) && !/^application\/(?:a2a\+)?json/.test(headers.get('content-type') ?? '')) {
    complaints.push(`the answer is called "${headers.get('content-type')}"`);
  }
  const error = refusalOf(value, status);
  const code = typeof error?.code === 'number' ? error.code : undefined;
  if (error !== undefined && (typeof error.message !== 'string' || error.message === '')) {
    complaints.push('the refusal says nothing');
  }
  if (status >= 500 && !(status === 503 && DOCUMENTED_503.has(code ?? 0))) complaints.push(`the status is ${status}`);
  if (code === -32603) complaints.push('something broke inside: -32603');
  if (request.binding === 'rpc') complaints.push(...judgeEnvelope(request, status, value));
  return { complaints, word: error === undefined ? 'ok' : String(code ?? status) };
};

/** UNAVAILABLE and STORAGE_FULL, of JSON-RPC and as REST has them. */
const DOCUMENTED_503: ReadonlySet<number> = new Set([-32020, -32019, 503]);

/** In `error`; over REST, 0.3 has it flat. */
const refusalOf = (value: Members, status: number): WireError | undefined => {
  if (typeof value['error'] === 'object' && value['error'] !== null) return value['error'];
  return status >= 400 ? value : undefined;
};

const parse = (text: string): Members | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
};

const firstDataOf = (text: string): string =>
  (text.split('\n\n').find((frame) => /^data:/m.test(frame)) ?? '')
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart())
    .join('\n');

const judgeEnvelope = ({ body }: HttpRequest, status: number, value: Members): string[] => {
  const complaints: string[] = [];
  if (value['jsonrpc'] !== '2.0') complaints.push('the answer is no JSON-RPC 2.0');
  if ('result' in value === 'error' in value) complaints.push('the answer has not exactly one of result and error');
  const asked = idOf(body);
  const told = value['id'];
  const mayBeNull = 'error' in value && (asked === undefined || isBeforeId(value['error'], status));
  if (told !== asked && !(told === null && mayBeNull)) {
    complaints.push(`the id is ${JSON.stringify(told)} and not ${JSON.stringify(asked)}`);
  }
  return complaints;
};

/** Refused before the body was read or understood, or for an id that cannot be told back. */
const isBeforeId = (error: unknown, status: number): boolean => {
  const { code } = error as { readonly code: number };
  return code === -32700 || code === -32600 || (status !== 200 && status !== 400);
};

/** The id that an answer must carry; undefined where there is none that could be. */
const idOf = (body: Buffer | undefined): unknown => {
  const value = parse((body ?? Buffer.alloc(0)).toString('utf8').replace(/^\ufeff/, ''));
  const id = value?.['id'];
  return id === null || typeof id === 'string' || typeof id === 'number' ? id : undefined;
};
