/**
 * The 0.3 protocol over REST and gRPC is ProtoJSON of the package `a2a.v1`; over JSON-RPC it is JSON with `kind`s. The
 * methods speak the second, so the other bindings translate: `…OfProto` makes a method's params, `proto…Of` the answer.
 */
export { protoCardOf, restCardOf } from './proto-card.ts';
export {
  pushNameOfProto,
  pushSettingOfProto,
  pushTaskOfProto,
  sendParamsOfProto,
  stateOfProto,
  taskParamsOfProto,
} from './proto-params.ts';
export {
  protoEventOf,
  protoPageOf,
  protoPushConfigOf,
  protoPushConfigsOf,
  protoResultOf,
  protoTaskOf,
} from './proto-results.ts';
