import type { GrpcAnswer } from './answer.ts';
import type { GrpcRequest } from './fuzz-request.ts';
import { INSIDES, type Secrets, type Verdict } from './verdict.ts';

const OK = 0;
const UNKNOWN = 2;
const INTERNAL = 13;

export const judgeGrpc = (request: GrpcRequest, answer: GrpcAnswer, secrets: Secrets): Verdict => {
  const { httpStatus, status, message, bytes } = answer;
  const complaints: string[] = [];
  const secret = secrets.findIn(bytes);
  if (secret !== undefined) complaints.push(`the answer tells what belongs to somebody else: ${secret}`);
  const inside = INSIDES.exec(bytes.toString('utf8'))?.[0];
  if (inside !== undefined) complaints.push(`the answer shows the inside of the service: ${JSON.stringify(inside)}`);
  if (httpStatus >= 500) complaints.push(`the HTTP status is ${httpStatus}`);
  // What is wrong with the frames is the library's to say, and INTERNAL is what gRPC wants it to say.
  if (request.isFramed && (status === UNKNOWN || status === INTERNAL))
    complaints.push(`the status is ${status}: ${message}`);
  if (status === undefined && httpStatus === 200 && !/Streaming|Subscri/.test(request.path)) {
    complaints.push('the call ended without a status');
  }
  return { complaints, word: (status ?? OK) === OK ? 'ok' : String(status) };
};
