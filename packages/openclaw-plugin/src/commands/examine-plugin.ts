import { accessSync, constants, statfsSync, statSync } from 'node:fs';

import { type ApiClient, type Check, type ClientContext, shellWord, toCliError } from 'sealane/cli';

import type { GatewayPlace } from './gateway-place.ts';
import { findAnswerer, findReadiness, isGatewayUp } from './look-around.ts';
import type { PluginConfig } from './plugin-config.ts';

export interface Examined {
  readonly place: GatewayPlace;
  readonly config: PluginConfig;
  /** Ask the agent something, which costs a call of the model. */
  readonly withAgent: boolean;
}

const FREE_BYTES = 200 * 1024 * 1024;

/** Looks at everything in the order in which it can go wrong, and stops where the rest would only repeat a failure. */
export async function* examinePlugin(context: ClientContext, examined: Examined): AsyncGenerator<Check> {
  const { place, config } = examined;
  yield {
    name: 'plugin',
    ok: config.isEnabled,
    detail: config.isEnabled ? 'enabled' : "not enabled in OpenClaw's configuration",
    next: 'openclaw plugins enable a2a-tasks',
  };
  if (place.isElsewhere) {
    yield {
      name: 'gateway',
      ok: false,
      detail: 'gateway.mode is "remote": the Gateway and its files are on another machine',
      next: 'run this there',
    };
    return;
  }
  yield checkFolder(place);
  yield checkSpace(place);
  yield await checkKey(context, place);
  const isUp = await isGatewayUp(place);
  yield {
    name: 'gateway',
    ok: isUp,
    detail: isUp ? `answers on ${place.origin}` : `nothing answers on ${place.origin}`,
    next: 'openclaw gateway run   # where it is a service: openclaw gateway start',
  };
  if (!isUp) return;
  const readiness = await findReadiness(place);
  yield checkReadiness(place, readiness);
  if (readiness === undefined) return;
  const client = await context.client();
  yield* checkService(client);
  if (config.channel) yield await checkChannel(place, config);
  if (examined.withAgent) yield await checkAgent(client);
}

const checkFolder = ({ dataDir }: GatewayPlace): Check => {
  const folder = (ok: boolean, detail: string, next?: string): Check => ({ name: 'data folder', ok, detail, next });
  try {
    const facts = statSync(dataDir);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return process.platform !== 'win32' && (facts.mode & 0o077) !== 0
      ? folder(false, `other users can look into ${dataDir}`, `chmod 700 ${shellWord(dataDir)}`)
      : folder(true, `${dataDir}, writable and private`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT'
      ? folder(true, `${dataDir} will be made at the first start`)
      : folder(false, `${dataDir} cannot be used (${code ?? String(error)})`, `chown -R "$USER" ${shellWord(dataDir)}`);
  }
};

const checkSpace = ({ dataDir }: GatewayPlace): Check => {
  try {
    const { bavail, bsize } = statfsSync(dataDir);
    const free = bavail * bsize;
    return {
      name: 'disk',
      ok: free > 0,
      isWarning: free < FREE_BYTES,
      detail: `${Math.floor(free / 1024 / 1024)} MiB free`,
      next: `df -h ${shellWord(dataDir)}   # then free some space`,
    };
  } catch {
    return { name: 'disk', ok: true, detail: 'not looked at: there is no data folder yet' };
  }
};

const checkKey = async (context: ClientContext, { keyFile }: GatewayPlace): Promise<Check> => {
  try {
    const { key } = await context.adminKey();
    return {
      name: 'key',
      ok: true,
      detail: key === undefined ? `${keyFile} will be made at the first start` : `${keyFile}, for you alone`,
    };
  } catch (error) {
    return { name: 'key', ok: false, detail: toCliError(error).message, next: `chmod 600 ${shellWord(keyFile)}` };
  }
};

const checkReadiness = ({ url }: GatewayPlace, readiness: 'ready' | 'not ready' | undefined): Check => {
  const service = (ok: boolean, detail: string, next?: string): Check => ({ name: 'service', ok, detail, next });
  if (readiness === 'ready') return service(true, `ready at ${url}`);
  return readiness === undefined
    ? service(false, 'the Gateway runs without it', 'openclaw gateway restart; then openclaw plugins inspect a2a-tasks')
    : service(false, 'it is there, and not ready', 'openclaw logs   # look for a2a-tasks');
};

interface HealthReport {
  readonly store: string;
  readonly agents: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
}

async function* checkService(client: ApiClient): AsyncGenerator<Check> {
  try {
    const { store, agents } = await client.get<HealthReport>('/admin/health');
    yield { name: 'store', ok: store === 'ok', detail: store, next: 'openclaw logs   # look for a2a-tasks' };
    for (const { name, ok, detail } of agents)
      yield { name: `agent ${name}`, ok, detail: detail || (ok ? 'ok' : 'not ready'), next: 'openclaw agents list' };
  } catch (error) {
    const { message, next } = toCliError(error);
    yield { name: 'store', ok: false, detail: message, next };
  }
}

/** Either of the two may answer the channel's peers; that nobody does, or not the one that is meant to, is a fault. */
const checkChannel = async (place: GatewayPlace, { channel, takesOver }: PluginConfig): Promise<Check> => {
  const answerer = await findAnswerer(place, channel);
  const check = (ok: boolean, detail: string, next?: string): Check => ({ name: 'channel', ok, detail, next });
  if (takesOver && channel?.isOn)
    return check(
      false,
      'it is on and taken over at once: it answers its peers itself',
      'openclaw config set channels.a2a.enabled false   # or: openclaw a2a-tasks import --undo',
    );
  if (takesOver)
    return answerer === 'sealane'
      ? check(true, 'taken over: its peers are answered here')
      : check(false, 'taken over, but its peers are not answered here', 'openclaw gateway restart');
  if (!channel?.isOn) return check(true, "OpenClaw's own A2A channel is off, and not taken over");
  return answerer === 'channel'
    ? check(true, "OpenClaw's own A2A channel answers its peers")
    : check(false, "OpenClaw's own A2A channel is on, but does not answer its peers", 'openclaw channels status');
};

const checkAgent = async (client: ApiClient): Promise<Check> => {
  const name = 'model';
  const message = {
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text: 'Answer with the one word: ready' }],
  };
  try {
    const { task } = await client.rpc<{ readonly task?: { readonly id: string; readonly status: { state: string } } }>(
      'SendMessage',
      { message },
      { signal: AbortSignal.timeout(120_000) },
    );
    const state = task?.status.state;
    return {
      name,
      ok: state === 'TASK_STATE_COMPLETED',
      detail:
        state === 'TASK_STATE_COMPLETED' ? 'the default agent answers' : `the task ended as ${state ?? 'nothing'}`,
      next: `openclaw a2a-tasks tasks show ${task?.id ?? ''}`,
    };
  } catch (error) {
    const { message: detail, next } = toCliError(error);
    return { name, ok: false, detail, next };
  }
};
