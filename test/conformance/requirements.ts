/**
 * What the A2A specification 1.0.1 asks for, in our words. Names are those of the official kit where it has one. Tests
 * cite them in square brackets at the end of their names, and coverage.test.ts sees to it that none is forgotten.
 *
 * The specification does not put a keyword on every rule: some stand in the comments of its proto file (page sizes, the
 * filter by time), some follow from others (no negative history, order of webhooks). Their levels are our reading.
 */
export interface Requirement {
  readonly id: string;
  readonly level: 'MUST' | 'SHOULD' | 'MAY';
  /** Of the specification. */
  readonly section: string;
  /** Whose it is. A server's are ours and are tested; the others are here so that nobody looks for them in vain. */
  readonly owner: 'server' | 'client' | 'operator';
  readonly sentence: string;
}

const SERVER = `
CORE-SEND-001 MUST 3.1.1 A send is answered with a task or with a message.
CORE-SEND-002 MUST 3.1.1 A message to a task that has ended is refused as an unsupported operation.
CORE-SEND-003 MUST 3.1.1 A part of a media type that the agent does not take is refused.
CORE-SEND-004 MUST 3.1.1 A message to a task that does not exist is refused as task not found.
CORE-SEND-005 MAY 3.1.1 Work goes on after the answer when the answer is a task.
CORE-SEND-006 MAY 3.3.1 A repeated send is recognised.
CORE-STREAM-001 MUST 3.1.2 A streaming send opens a stream of updates.
CORE-STREAM-002 MUST 3.1.2 A stream with a message has exactly that message and closes.
CORE-STREAM-003 MUST 3.1.2 A stream of a task begins with the task and closes when it has ended.
CORE-STREAM-004 MUST 3.1.2 Progress and partial results are told while the work goes on.
CORE-STREAM-005 MUST 3.1.2 A streaming send is refused for the same reasons as a plain one.
CORE-GET-001 MUST 3.1.3 A task is shown as it is now, with its status and artifacts.
CORE-GET-002 MUST 3.1.3 An unknown task is refused as task not found.
CORE-LIST-001 MUST 3.1.4 A list has only tasks that the caller may see.
CORE-LIST-002 MUST 3.1.4 A list is paged by cursors.
CORE-LIST-003 MUST 3.1.4 A list is sorted by the time of the status, the latest first.
CORE-LIST-004 MUST 3.1.4 The next page's token is always there, and empty on the last page.
CORE-LIST-005 MUST 3.1.4 Artifacts are left out of a list unless they are asked for.
CORE-LIST-006 SHOULD 3.1.4 Artifacts that are asked for are there, even if there are none.
CORE-LIST-007 MUST 3.1.4 A list is filtered by context and by state.
CORE-LIST-008 MUST 3.1.4 A list since a time has the tasks of exactly that time as well.
CORE-LIST-009 MUST 3.1.4 A page has between 1 and 100 tasks, 50 unless asked otherwise; other sizes are refused.
CORE-LIST-010 MUST 3.1.4 The total counts all tasks that match, whatever the page.
CORE-LIST-011 MUST 3.1.4 A cursor that was not given out is refused.
CORE-LIST-012 MUST 3.1.4 Pages stay whole while tasks change between them.
CORE-CANCEL-001 MUST 3.1.5 Cancelling answers with the task as it is after it.
CORE-CANCEL-002 MUST 3.1.5 A task that has ended otherwise cannot be cancelled.
CORE-CANCEL-003 MUST 3.1.5 Cancelling an unknown task is refused as task not found.
CORE-CANCEL-004 MUST 3.3.1 Cancelling twice has the effect of cancelling once.
CORE-EXECUTION-MODE-001 MUST 3.2.2 A send waits until the task has ended or needs something, and shows it whole.
CORE-EXECUTION-MODE-002 MUST 3.2.2 A send that asks not to wait is answered as soon as the task exists.
CORE-EXECUTION-MODE-003 MUST 3.2.2 Not waiting changes nothing about message answers and streams.
CORE-META-001 MUST 3.2.5 Metadata of a send is taken, whatever JSON it holds.
CORE-ERR-001 MUST 3.3.2 An error has a code for programs and a text for people.
CORE-ERR-002 MUST 3.3.2 Input is checked before anything is done with it.
CORE-ERR-003 SHOULD 3.3.2 An error about input says which field is wrong and why.
CORE-ERR-004 MUST 3.3.2 Each detail of an error says of what type it is.
CORE-ERR-005 SHOULD 3.3.2 A failure that will pass says when to try again.
CORE-CAP-001 MUST 3.3.4 Without push notifications their four operations are refused as such.
CORE-CAP-002 MUST 3.3.4 Without streaming both streaming operations are refused as unsupported.
CORE-CAP-003 MUST 3.3.4 Without an extended card asking for it is refused as unsupported.
CORE-CAP-004 MUST 3.3.4 A call without an extension that the agent requires is refused.
CORE-CAP-005 MUST 3.3.4 Without push notifications a send with a webhook is refused, not half done.
CORE-MULTI-001 MAY 3.4.1 A context is made for a message that names none.
CORE-MULTI-001a MUST 3.4.1 A context that was made is named in the answer.
CORE-MULTI-002 MAY 3.4.1 A context that the client names is taken.
CORE-MULTI-002a MUST 3.4.1 A context that cannot be taken is refused and never replaced by another.
CORE-MULTI-003 MUST 3.4.2 Every task has an id of its own, made by the server.
CORE-MULTI-004 MUST 3.4.2 A message that names an unknown task is refused and makes none.
CORE-MULTI-005 MUST 3.4.3 A message that names only a task belongs to the task's context.
CORE-MULTI-006 MUST 3.4.3 A message that names a task and another context is refused.
CORE-MULTI-007 MAY 3.4.3 A task that needs input goes on with the next message to it.
CORE-MULTI-008 MAY 3.4.1 Several tasks share a context.
CORE-HIST-001 SHOULD 3.2.4 A history of length 0 is left out.
CORE-HIST-002 MUST 3.2.4 No more messages are shown than were asked for, and the latest.
CORE-HIST-003 SHOULD 3.2.4 The same holds in the answer to a send.
CORE-HIST-004 MAY 3.2.4 Messages are kept in the history.
CORE-HIST-005 SHOULD 3.2.4 The history is in the order of time.
CORE-HIST-006 SHOULD 3.2.4 The history has the messages as they were sent.
CORE-HIST-007 MUST 3.2.4 A history of negative length is refused.
STREAM-ORDER-001 MUST 3.5.2 Events come in the order in which they happened.
STREAM-ORDER-002 MUST 3.5.2 Every open stream of a task gets its events.
STREAM-ORDER-003 MUST 3.5.2 All streams of a task get the same events in the same order.
STREAM-ORDER-004 MUST 3.5.2 Closing one stream leaves the others alone.
STREAM-ORDER-005 MUST 3.5.2 A task lives on when its streams are gone.
STREAM-SUB-001 MUST 3.1.6 A subscription begins with the task as it is.
STREAM-SUB-002 MUST 3.1.6 A subscription closes when the task has ended.
STREAM-SUB-003 MUST 3.1.6 A task that has ended cannot be subscribed to.
STREAM-SUB-004 MUST 3.1.6 Subscribing to an unknown task is refused as task not found.
STREAM-SUB-005 MUST 3.1.6 Between the task and the first event nothing is lost and nothing comes twice.
PUSH-CREATE-001 MUST 3.1.7 A webhook is registered and gets an id.
PUSH-CREATE-002 MUST 3.1.7 A webhook stays until it is deleted or the task is over.
PUSH-CREATE-003 MUST 3.1.7 A webhook for an unknown task is refused as task not found.
PUSH-CREATE-004 MUST 3.2.2 A webhook given with a send belongs to the new task.
PUSH-GET-001 MUST 3.1.8 A webhook is shown with its address and settings.
PUSH-GET-002 MUST 3.1.8 An unknown webhook is refused.
PUSH-LIST-001 MUST 3.1.9 All webhooks of a task are listed.
PUSH-DEL-001 MUST 3.1.10 A deleted webhook is gone for good.
PUSH-DEL-002 MUST 3.1.10 Deleting a webhook twice is no error.
PUSH-DELIVER-001 MUST 4.3.3 A delivery carries the credentials that the webhook was registered with.
PUSH-DELIVER-002 MUST 4.3.3 Each webhook is tried at least once.
PUSH-DELIVER-003 MUST 4.3.3 A delivery is one stream response as JSON, of the media type of A2A.
PUSH-DELIVER-005 MUST 3.5.2 Deliveries come in the order in which things happened.
PUSH-SEC-001 SHOULD 13.2 Webhooks never reach private or loopback addresses.
DM-TASK-001 MUST 4.1.1 A task has an id and a status.
DM-TASK-002 MUST 4.1.3 The state of a task is one of the eight that are defined.
DM-TASK-003 MUST 4.1.3 A task that has ended never changes its state again.
DM-STATUS-001 MUST 4.1.2 A status has a state.
DM-MSG-001 MUST 4.1.4 A message has an id, a role and parts.
DM-MSG-002 MUST 4.1.5 The role of a message is user or agent.
DM-MSG-003 MUST 4.1.4 Messages of the agent name their context, and their task if there is one.
DM-PART-001 MUST 4.1.6 A part is exactly one of text, bytes, link and data.
DM-ART-001 MUST 4.1.7 An artifact has an id and parts.
DM-ART-002 MUST 4.2.2 Chunks of an artifact add up to the artifact that is shown.
DM-SERIAL-001 MUST 5.5 Names in JSON are in camel case.
DM-SERIAL-002 MUST 5.5 Enumerations in JSON are the names of their values.
DM-SERIAL-003 MUST 5.6.1 Times are ISO 8601 in UTC.
DM-SERIAL-004 MUST 5.7 What is required is there, and a message without it is refused.
DM-SERIAL-005 SHOULD 5.7 Unknown fields are ignored.
DM-SERIAL-006 SHOULD 5.6.1 Times have milliseconds.
DM-SERIAL-007 MUST 5.5 Names in snake case are understood, as ProtoJSON wants it.
BIND-EQUIV-001 MUST 5.1 Every binding offers the same operations.
BIND-EQUIV-002 MUST 5.1 The same request means the same on every binding.
BIND-EQUIV-003 MUST 5.1 The same mistake is the same error on every binding.
BIND-EQUIV-004 MUST 5.1 Every binding takes the same credentials.
BIND-FIELD-001 MUST 5.2 The card names every binding that is served.
JSONRPC-FMT-001 MUST 9.3 A request that is not JSON-RPC 2.0 is refused as that.
JSONRPC-FMT-002 MUST 9.1 Answers are application/json.
JSONRPC-SVC-001 MUST 9.1 Methods have the names of the gRPC service.
JSONRPC-SVC-002 MUST 9.2 Version and extensions are taken from headers.
JSONRPC-ERR-001 MUST 9.5 Errors are error objects with a code, a message and a list of details.
JSONRPC-ERR-002 MUST 9.5 Errors of A2A have codes from -32001 to -32099.
JSONRPC-ERR-003 MUST 9.5 Errors of A2A say their reason and the domain a2a-protocol.org.
JSONRPC-ERR-004 MUST 9.5 The standard errors of JSON-RPC have their standard codes.
JSONRPC-SSE-001 MUST 9.4.2 Streams are server-sent events, each a JSON-RPC answer.
JSONRPC-SSE-002 MUST 5.4 Every error of A2A has its JSON-RPC code.
GRPC-SVC-001 MUST 10.1 The service A2AService is served with all its calls.
GRPC-SVC-002 MUST 10.1 Messages are those of the normative definition.
GRPC-META-001 MUST 10.2 Version and extensions are taken from metadata.
GRPC-ERR-001 MUST 10.6 Errors of A2A say their reason and the domain a2a-protocol.org.
GRPC-ERR-002 MUST 5.4 Every error of A2A has its gRPC status.
GRPC-ERR-003 MUST 10.7 Streams are server-streaming calls.
HTTP_JSON-URL-001 MUST 11.3 Every operation is at its address.
HTTP_JSON-URL-002 MUST 11.3 Every operation has its HTTP method.
HTTP_JSON-SVC-001 SHOULD 11.1 Requests and answers are application/a2a+json.
HTTP_JSON-SVC-002 MUST 11.2 Version and extensions are taken from headers.
HTTP_JSON-QP-001 MUST 11.5 Parameters in the query are in camel case.
HTTP_JSON-ERR-001 MUST 11.6 Errors have a code, a status, a message and details.
HTTP_JSON-ERR-002 MUST 11.6 Errors of A2A say their reason and the domain a2a-protocol.org.
HTTP_JSON-STATUS-001 MUST 5.4 Every error of A2A has its HTTP status.
HTTP_JSON-SSE-001 MUST 11.7 Streams are server-sent events, each a stream response.
VER-SERVER-001 MUST 3.6.2 A request is answered in the version that it asks for.
VER-SERVER-002 MUST 3.6.2 A version that is not spoken is refused as that.
VER-SERVER-003 MUST 3.6.2 A request without a version is one of 0.3.
VER-SERVER-004 MUST 3.6 The patch number of a version does not matter.
VER-SERVER-005 MAY 3.6.1 The version can be given in the query.
EXT-001 SHOULD 4.6.3 Extensions that are unknown are ignored.
EXT-002 MUST 4.6.3 No version of an extension stands for another.
EXT-003 SHOULD 3.2.6 The answer names the extensions that were used.
TENANT-001 MUST 8.3.2 A tenant's tasks are seen in that tenant only.
CARD-DISC-001 MUST 8.1 The card is at the well-known address.
CARD-PROTO-001 MUST 8.3 The card declares the protocols that are served.
CARD-PROTO-002 MUST 8.3.1 Every interface on the card has its binding, version and address, and works.
CARD-STRUCT-001 MUST 4.4.1 The card has all required fields.
CARD-EXT-001 MUST 13.3 The extended card is shown to known callers only.
CARD-EXT-002 MUST 13.3 The extended card shows a caller no more than it may use.
CARD-SIGN-001 MUST 8.4.1 What is signed is the card in canonical form.
CARD-SIGN-002 MUST 8.4.1 The signatures themselves are not signed.
CARD-SIGN-003 MUST 8.4.2 A signature names its algorithm and its key.
CARD-CACHE-001 SHOULD 8.6.1 The card says how long it may be kept.
CARD-CACHE-002 SHOULD 8.6.1 The card has an entity tag, and an unchanged card is not sent again.
CARD-CACHE-003 MAY 8.6.1 The card says when it last changed.
AUTH-TLS-001 MUST 7.1 Nothing but loopback is served without encryption unless the operator insists.
AUTH-SERVER-002 MUST 7.4 Every call is authenticated.
AUTH-SERVER-003 SHOULD 7.4 A refused caller is told how to authenticate.
AUTH-SERVER-004 MUST 3.3.2 A caller that may not do something is told so.
AUTH-INTASK-001 MUST 7.6.1 An agent that needs authorization does so within a task.
AUTH-INTASK-002 MUST 7.6.1 The task is then in the state for it.
AUTH-INTASK-003 MUST 7.6.1 The status says what is needed.
AUTH-INTASK-005 SHOULD 7.6.1 Streams stay open while authorization is awaited.
AUTH-INTASK-006 SHOULD 7.6.1 Messages are taken while authorization is awaited.
AUTH-SCOPE-001 MUST 13.1 Every operation checks whether the caller may.
AUTH-SCOPE-002 MUST 13.1 Results are limited to what the caller may see, with and without filters.
AUTH-SCOPE-003 MUST 3.3.2 What a caller may not see looks as if it were not there.
SEC-LIMIT-001 SHOULD 13.4 There are limits on the size and the depth of requests.
SEC-LIMIT-002 SHOULD 13.4 Calls are limited in number, and the refusal says when to come back.
SEC-SECRET-001 MUST 13.4 Credentials are kept secret and never logged.
SEC-AUDIT-001 SHOULD 13.4 Refused credentials are recorded.
SEC-PRIVACY-001 SHOULD 13.4 A caller can have its data deleted.
`;

const CLIENT = `
VER-CLIENT-001 MUST 3.6.1 Every request names the version of A2A.
VER-CLIENT-002 SHOULD 3.6 Versions are written without a patch number.
AUTH-SERVER-001 SHOULD 7.2 The server's certificate is verified.
AUTH-INTASK-004 MUST 7.6.1 Credentials reach the agent on another way than this protocol.
CARD-SIGN-004 MUST 8.4.3 Keys that have expired or were revoked verify nothing.
PUSH-CLIENT-001 MUST 4.3.3 A delivery is acknowledged with a status of 2xx.
`;

const OPERATOR = `
GRPC-SVC-003 MUST 10.1 In production gRPC goes over TLS, which the proxy in front adds.
AUTH-TLS-002 SHOULD 7.1 TLS is modern, which the proxy in front sees to.
`;

/** Known and not done yet. Whoever does one moves it up, and its tests cite it from then on. */
const OPEN = `
PUSH-DELIVER-004 SHOULD 13.2 A delivery that failed is tried again, later each time.
`;

const read = (table: string, owner: Requirement['owner']): readonly Requirement[] =>
  table
    .trim()
    .split('\n')
    .map((line) => {
      const [, id = '', level, section = '', sentence = ''] =
        /^(\S+) (MUST|SHOULD|MAY) ([\d.]+) (.+)$/.exec(line) ?? [];
      if (!level) throw new Error(`This is not a requirement: ${line}`);
      return { id, level: level as Requirement['level'], section, owner, sentence };
    });

export const OPEN_REQUIREMENTS: readonly Requirement[] = read(OPEN, 'server');

export const REQUIREMENTS: readonly Requirement[] = [
  ...read(SERVER, 'server'),
  ...read(CLIENT, 'client'),
  ...read(OPERATOR, 'operator'),
];
