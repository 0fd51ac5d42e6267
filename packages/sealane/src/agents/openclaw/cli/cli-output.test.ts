import { describe, expect, it } from 'vitest';

import { readCliOutput } from './cli-output.ts';

const AGENT_META = {
  sessionId: 'a2a-one',
  provider: 'fake',
  model: 'echo',
  usage: { input: 11, output: 7, total: 18, cost: { total: 0 } },
};

const local = (payload: object, meta: object = {}): object => ({
  payloads: [payload],
  meta: {
    durationMs: 2100,
    agentMeta: AGENT_META,
    aborted: false,
    stopReason: 'stop',
    systemPromptReport: { workspaceDir: '/home/ada/workspace', sandbox: { mode: 'off' } },
    ...meta,
  },
});

const well = (value: unknown) => readCliOutput(JSON.stringify(value, undefined, 2), { endedWell: true });
const badly = (value: unknown) => readCliOutput(JSON.stringify(value, undefined, 2), { endedWell: false });

describe('the output of a run', () => {
  it('is an answer with its model and usage', () => {
    expect(well(local({ text: 'hello', mediaUrl: null }))).toEqual({
      kind: 'answer',
      text: 'hello',
      media: [],
      workspace: '/home/ada/workspace',
      metadata: {
        openclaw: { provider: 'fake', model: 'echo', durationMs: 2100, usage: { input: 11, output: 7, total: 18 } },
      },
    });
  });

  it('is the same answer when a Gateway has wrapped it', () => {
    const wrapped = {
      runId: 'r',
      status: 'ok',
      summary: 'completed',
      result: local({ text: 'hello', mediaUrl: null }),
    };
    expect(well(wrapped)).toEqual(well(local({ text: 'hello', mediaUrl: null })));
  });

  it('is the same answer when OpenClaw says null for what it does not have', () => {
    const odd = {
      payloads: [{ text: 'hi', isError: null }],
      meta: { timeoutPhase: null, error: null, durationMs: null },
    };
    for (const printed of [odd, { ...odd, meta: null }])
      expect(readCliOutput(JSON.stringify(printed), { endedWell: true })).toMatchObject({ kind: 'answer', text: 'hi' });
  });

  it('has the files of one and of several links', () => {
    const one = local({
      text: 'see',
      mediaUrl: './cat.png',
      mediaUrls: ['./cat.png', 'https://files.example/dog.png'],
    });
    expect(well(one)).toMatchObject({ text: 'see', media: ['./cat.png', 'https://files.example/dog.png'] });
    expect(well(local({ text: 'see', mediaUrl: './cat.png' }))).toMatchObject({ media: ['./cat.png'] });
  });

  it('may have a line of something else before it', () => {
    const printed = `[plugins] loaded {3}\n${JSON.stringify(local({ text: 'hello' }), undefined, 2)}\n`;
    expect(readCliOutput(printed, { endedWell: true })).toMatchObject({ kind: 'answer', text: 'hello' });
  });

  it('is found behind very many lines of something else without holding up the rest', () => {
    const since = process.threadCpuUsage();
    const lines = '{"level":"info"}\n'.repeat(900_000);
    expect(
      readCliOutput(`${lines}${JSON.stringify({ payloads: [{ text: 'hello' }] })}`, { endedWell: true }),
    ).toMatchObject({ text: 'hello' });
    // Of this thread alone: a busy machine takes nothing of it.
    expect(process.threadCpuUsage(since).user / 1000).toBeLessThan(1500);
  });

  it('is a timeout when it looks like a success that says so', () => {
    const text = 'Request timed out before a response was generated.';
    const timedOut = local(
      { text, isError: true, mediaUrl: null },
      { timeoutPhase: 'provider', livenessState: 'paused', error: { kind: 'incomplete_turn', message: text } },
    );
    expect(badly(timedOut)).toMatchObject({ kind: 'failure', reason: 'timeout', why: text, retryable: false });
  });

  it('is a timeout in the form of an isolated run', () => {
    expect(badly({ ok: false, status: 'timeout', final: '', error: { kind: 'timeout' } })).toMatchObject({
      reason: 'timeout',
      why: 'OpenClaw ended the run at its time limit.',
    });
  });

  it('is a failure when all that was said is an error, or the turn was not completed', () => {
    expect(well(local({ text: 'it broke', isError: true }))).toMatchObject({
      kind: 'failure',
      reason: 'agent',
      why: 'it broke',
    });
    const incomplete = local({ text: 'half' }, { error: { kind: 'incomplete_turn', message: 'the model stopped' } });
    expect(well(incomplete)).toMatchObject({ kind: 'failure', why: 'the model stopped' });
  });

  it('is never an answer when the program ended badly', () => {
    expect(badly(local({ text: 'all is well' }))).toMatchObject({ kind: 'failure' });
  });

  it('is stopped when somebody stopped it at the Gateway', () => {
    expect(badly({ runId: 'r', status: 'error', summary: 'aborted', stopReason: 'rpc' })).toMatchObject({
      kind: 'stopped',
    });
  });

  it('is a failure of a run behind a Gateway', () => {
    expect(badly({ runId: 'r', status: 'error', summary: 'the model said no' })).toMatchObject({
      kind: 'failure',
      reason: 'agent',
      why: 'the model said no',
    });
    expect(badly({ runId: 'r', status: 'timeout', summary: 'too slow' })).toMatchObject({ reason: 'timeout' });
  });

  it.each([
    ['Unknown agent id "nope". Use "openclaw agents list" to see configured agents.', 'bad-config', false, /agentId/],
    ['failed to acquire gateway state ownership', 'busy', true, /Another OpenClaw process/],
    ['A Gateway is running for this state directory (pid 1, port 2).', 'bad-config', false, /local: false/],
    ['Thinking level "low" is not supported for fake/echo. Use one of: off.', 'bad-config', false, /`thinking`/],
    ['No route-compatible authentication source is configured for openai.', 'bad-config', false, /stateDir/],
    ['gateway agent requires credentials before opening a websocket', 'unauthorized', false, /TOKEN/],
    ['Gateway not reachable at ws://127.0.0.1:18789 (ECONNREFUSED).', 'unavailable', true, /Gateway running/],
    ['gateway closed (1006 abnormal closure)', 'unavailable', false, /went away/],
    ['gateway timeout after 330000ms', 'timeout', false, /gateway timeout/],
    ['connect ECONNREFUSED 127.0.0.1:11434', 'agent', false, /11434/],
    ['fake/echo request failed (authentication failed, HTTP 401).', 'agent', false, /HTTP 401/],
  ])('says what to do about: %s', (message, reason, retryable, advice) => {
    const failure = badly({ ok: false, error: { type: 'cli_error', message } });
    expect(failure).toMatchObject({ kind: 'failure', reason, retryable });
    expect(failure).toHaveProperty('why', expect.stringContaining(message));
    expect(failure).toHaveProperty('why', expect.stringMatching(advice));
  });

  it('names what is wrong with the configuration', () => {
    const issues = [{ path: 'agents', message: 'Unrecognized key: "modle"' }];
    const failure = badly({ ok: false, error: { message: 'OpenClaw config is invalid: openclaw.json' }, issues });
    expect(failure).toMatchObject({ reason: 'bad-config' });
    expect(failure).toHaveProperty('why', expect.stringContaining('agents: Unrecognized key: "modle"'));
  });

  it.each(['', 'Segmentation fault', '[]', '42', '{"status":"ok"}', '{"payloads":[]', '{"hello":1}'])(
    'is not read where OpenClaw has not printed it: %s',
    (printed) => {
      expect(readCliOutput(printed, { endedWell: true })).toBeUndefined();
    },
  );
});
