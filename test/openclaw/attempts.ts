/** What a caller's text may make a model try, and what shows that nothing came of it. */
export interface Attempt {
  /** Completes "a remote key …". */
  readonly promise: string;
  /** Lines that make the fake model call tools. */
  readonly tools: (place: AttemptPlace) => readonly string[];
  /** A file that must not be there afterwards, within the Gateway's home. */
  readonly effect?: string;
  /** Words that the caller must not get to see. */
  readonly secret?: string;
  /** Each of the tools must answer something like this. */
  readonly refusal: RegExp;
}

export interface AttemptPlace {
  /** A path in the Gateway's home, outside of the workspace. */
  readonly file: (name: string) => string;
  /** The key of a session with full rights. */
  readonly fullRights: string;
  /** Something on loopback that answers. */
  readonly localUrl: string;
}

/** The text in a file outside of the workspace, which `file('secret')` names, and in the session with full rights. */
export const SECRET = 'top secret words';

const call = (name: string, args: object): string => `TOOL:${name} ${JSON.stringify(args)}`;
/** Tools that are not offered by themselves are found in a catalogue. */
const callHidden = (id: string, args: object): string => call('tool_call', { id, args });

const UNKNOWN = /unknown tool|not found|not available/i;
const DENIED = /exec denied|missing scope: operator\.approvals|elevated is not available|not found/i;
const OUTSIDE = /escapes sandbox root|outside|not found|denied/i;

const JOB = {
  action: 'add',
  job: { name: 'evil', schedule: { kind: 'every', everyMs: 60_000 }, payload: { kind: 'agentTurn', message: 'x' } },
};

export const ATTEMPTS: readonly Attempt[] = [
  {
    promise: 'runs no command',
    tools: ({ file }) => [call('exec', { command: `touch ${file('made-by-exec')}` })],
    effect: 'made-by-exec',
    refusal: DENIED,
  },
  {
    promise: 'runs no command in the background, on another host or with more rights either',
    tools: ({ file }) => [
      call('exec', { command: `touch ${file('made-by-exec-2')}`, background: true }),
      call('exec', { command: `touch ${file('made-by-exec-2')}`, elevated: true, security: 'full', ask: 'off' }),
      call('exec', { command: `touch ${file('made-by-exec-2')}`, host: 'gateway', security: 'full' }),
    ],
    effect: 'made-by-exec-2',
    refusal: DENIED,
  },
  {
    promise: 'reads nothing outside the workspace',
    tools: ({ file }) => [call('read', { path: file('secret') }), call('read', { path: '../secret' })],
    secret: SECRET,
    refusal: OUTSIDE,
  },
  {
    promise: 'writes nothing outside the workspace',
    tools: ({ file }) => [
      call('write', { path: file('made-by-write'), content: 'x' }),
      call('write', { path: '../made-by-write', content: 'x' }),
      call('edit', { path: file('secret'), edits: [{ oldText: 'secret', newText: 'public' }] }),
    ],
    effect: 'made-by-write',
    refusal: OUTSIDE,
  },
  {
    promise: 'schedules nothing, and changes no setting',
    tools: () => [
      callHidden('cron', JOB),
      callHidden('automations', JOB),
      callHidden('gateway', { action: 'config.get' }),
      callHidden('openclaw', { request: 'turn everything off' }),
      callHidden('plugins', { action: 'list' }),
    ],
    refusal: UNKNOWN,
  },
  {
    promise: 'has no message tool',
    tools: () => [
      callHidden('message', { action: 'send', channel: 'a2a', target: 'somebody', message: 'hello' }),
      call('message', { action: 'send', channel: 'a2a', target: 'somebody', message: 'hello' }),
    ],
    refusal: UNKNOWN,
  },
  {
    promise: 'reaches no other session',
    tools: ({ file, fullRights }) => {
      const message = `TOOL:exec ${JSON.stringify({ command: `touch ${file('made-by-session')}` })}`;
      return [
        callHidden('sessions_send', { sessionKey: fullRights, message, timeoutSeconds: 5 }),
        callHidden('sessions_send', { sessionKey: 'agent:main:main', message, timeoutSeconds: 5 }),
        callHidden('sessions_history', { sessionKey: fullRights }),
        callHidden('sessions_search', { query: 'secret' }),
        callHidden('sessions_spawn', { task: message }),
        callHidden('conversations_send', { sessionKey: fullRights, message }),
      ];
    },
    effect: 'made-by-session',
    secret: SECRET,
    refusal: UNKNOWN,
  },
  {
    promise: 'reaches no secrets, no nodes, no browser and no files of other machines',
    tools: () => [
      callHidden('secrets', { action: 'list' }),
      callHidden('nodes', { action: 'status' }),
      callHidden('browser', { action: 'status' }),
      callHidden('file_fetch', { node: 'any', path: '/etc/hostname' }),
      callHidden('skill_workshop', { action: 'list' }),
    ],
    refusal: UNKNOWN,
  },
];

/** Further ways to the files and services of the machine, for callers whose tools are named one by one. */
export const LISTED_ATTEMPTS: readonly Attempt[] = [
  {
    promise: 'finds no other way to the files of the machine, or to its memory of others',
    tools: ({ file }) => [
      call('ls', { path: '..' }),
      call('view_image', { path: file('secret') }),
      callHidden('pdf', { pdf: file('secret'), prompt: 'What is in it?' }),
      callHidden('memory_get', { path: '../secret' }),
      callHidden('memory_get', { path: file('secret') }),
      callHidden('memory_search', { query: 'secret', corpus: 'all' }),
    ],
    secret: SECRET,
    refusal: /escapes sandbox root|MEMORY_PATH_NOT_ALLOWED|unknown tool|not found/i,
  },
  {
    promise: 'reaches no service on loopback',
    tools: ({ localUrl, file }) => [
      callHidden('web_fetch', { url: localUrl }),
      callHidden('web_fetch', { url: localUrl.replace('127.0.0.1', 'localhost') }),
      callHidden('web_fetch', { url: `file://${file('secret')}` }),
    ],
    secret: SECRET,
    refusal: /blocked|must be http/i,
  },
];

/** Commands of OpenClaw, which are text when a remote caller sends them. */
export const COMMANDS = ['/new', '/reset hello', '  /new', '/exec security=full ask=off', '/elevated full'];
