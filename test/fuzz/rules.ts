import type { Outcome } from './answer.ts';
import type { FuzzRequest, GrpcRequest, HttpRequest } from './fuzz-request.ts';
import { judgeGrpc } from './grpc-rules.ts';
import { judgeHttp } from './http-rules.ts';
import type { Secrets, Verdict } from './verdict.ts';

/** What no answer may be, whatever was asked. */
export const judge = (request: FuzzRequest, outcome: Outcome, secrets: Secrets): Verdict => {
  if (outcome.kind === 'none') return { complaints: [outcome.why], word: 'none' };
  if (outcome.kind === 'grpc') return judgeGrpc(request as GrpcRequest, outcome.answer, secrets);
  return judgeHttp(request as HttpRequest, outcome.answer, secrets);
};
