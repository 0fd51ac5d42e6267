/**
 * The protocol: the JSON of A2A, JSON-RPC 2.0, and the one table of errors. It turns text into calls of the task
 * service, and their answers into text. It knows no HTTP: a binding brings caller, headers and body. A version of A2A
 * is a `Dialect`; methods beside A2A are an `Extension`. Start with `rpc.ts`, then `v1-dialect.ts`.
 * `message-decoder.ts` and `task-encoder.ts` are the hot path.
 */
export type { CallHeaders } from './call-headers.ts';
export { ALL_CAPABILITIES } from './capabilities.ts';
export type { Capabilities } from './capabilities.ts';
export { agentsFor, hiddenAgent } from './cards/index.ts';
export type { CardForm, CardKeys, CardKeyView, CardOptions, CardRequest, Cards, CardText } from './cards/index.ts';
export type { CallContext, Dialect, Method, MethodResult, ProtocolDeps, StreamResult } from './dialect.ts';
export { encodeRpcError, errorDetailsOf, errorForCaller, ERRORS, GRPC_STATUS } from './errors.ts';
export type { ErrorEntry, GrpcStatus } from './errors.ts';
export { encodeEvent, encodeStreamItem } from './event-encoder.ts';
export type { Extension } from './extensions/extension.ts';
export { requireExtensions } from './extensions/negotiation.ts';
export type { Negotiated } from './extensions/negotiation.ts';
export { TASK_LOG } from './extensions/task-log.ts';
export {
  findFlag,
  findId,
  findInteger,
  findText,
  findTexts,
  invalid,
  isObject,
  requireFields,
} from './field-reader.ts';
export type { Fields } from './field-reader.ts';
export { MAX_DEPTH, parseJson } from './json-text.ts';
export { decodeMessage, MAX_PARTS } from './message-decoder.ts';
export { closing, createLiveCalls } from './live-calls.ts';
export type { LiveCall, LiveCalls } from './live-calls.ts';
export { createProtocol } from './protocol.ts';
export type { Protocol, ProtocolOptions } from './protocol.ts';
export type { QueryType, RestRoute } from './rest-route.ts';
export { createRpc, encodeRpcRefusal } from './rpc.ts';
export type { Rpc, RpcAnswer, RpcCall } from './rpc.ts';
export { STATE_NAMES, stateOf } from './state-names.ts';
export { encodePage, encodeTask } from './task-encoder.ts';
export type { TaskView } from './task-encoder.ts';
export { createV1Dialect } from './v1-dialect.ts';
