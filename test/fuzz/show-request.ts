import type { Outcome } from './answer.ts';
import type { FuzzRequest } from './fuzz-request.ts';

const SHOWN = 2000;

const shorten = (text: string): string =>
  text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}… (${text.length} characters)`;

/** In single quotes for a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A request that can be sent again from a shell, and what came back. */
export const showRequest = (request: FuzzRequest, outcome: Outcome, url: string): string => {
  const lines = request.binding === 'grpc' ? showGrpc(request) : showHttp(request, url);
  return [...lines, `  answer: ${shorten(showOutcome(outcome))}`].join('\n');
};

const showHttp = (request: Exclude<FuzzRequest, { binding: 'grpc' }>, url: string): readonly string[] => {
  const { method, path, headers, body } = request;
  const options = headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  const curl = `curl -isS --path-as-is -X ${method} ${options.join(' ')} ${quote(url + path)}`;
  if (!body) return [`  request: ${curl}`];
  // Through base64, because a shell would lose bytes that are no text.
  const whole = body.length > SHOWN * 4 ? '(too long to show)' : body.toString('base64');
  return [
    `  request: echo ${whole} | base64 -d | ${curl} --data-binary @-`,
    `  body: ${shorten(JSON.stringify(body.toString('utf8')))}`,
  ];
};

const showGrpc = ({ path, headers, frames }: Extract<FuzzRequest, { binding: 'grpc' }>): readonly string[] => [
  `  request: gRPC ${path} ${JSON.stringify(headers)}`,
  `  frames: ${shorten(frames.toString('base64'))}`,
];

const showOutcome = (outcome: Outcome): string => {
  if (outcome.kind === 'none') return outcome.why;
  if (outcome.kind === 'grpc') return `${outcome.answer.status} ${outcome.answer.message}`;
  const { status, headers, body } = outcome.answer;
  return `${status} ${headers.get('content-type')} ${body.toString('utf8')}`;
};
