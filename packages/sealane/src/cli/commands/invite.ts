import { InvalidArgumentError, Option, type Command } from 'commander';

import { isLoopback, nearestWord } from '#config';

import { CliError } from '../cli-error.ts';
import type { ClientContext } from '../cli-context.ts';
import { commandWords, helpText, shellWord, typed } from '../command-name.ts';
import { createKey, nameTaken, knownPermission, knownRate, lifetime, type KeyView } from '../create-key.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { notEmpty } from '../option-values.ts';
import { oneLine } from '../printable.ts';
import type { RunCommand } from '../run-command.ts';

interface InviteOptions {
  readonly agent?: readonly string[];
  readonly permission: string;
  /** Milliseconds; `Infinity` is for ever. */
  readonly expires: number;
  readonly rate?: number;
  readonly owner?: string;
}

export const addInviteCommand = (program: Command, run: RunCommand<ClientContext>): void => {
  program
    .command('invite')
    .description('make a key for a peer, and print all that the peer needs: address, key and a curl line')
    .argument('<name>', 'how the peer is called; its key gets this name')
    .option(
      '--agent <name>',
      'an agent that it may use; may be repeated (the default agent without it)',
      (name: string, names: readonly string[] | undefined) => [...(names ?? []), name],
    )
    .option('--permission <level>', 'read-only, guarded or workspace', peerPermission, 'guarded')
    .addOption(
      new Option('--expires <time>', 'how long the key is valid, like 12h, 30d or 1y; or never')
        .argParser(peerLifetime)
        .default(lifetime('30d'), '30d'),
    )
    .option('--rate <rate>', 'requests it may make, like 30/min', knownRate)
    .option('--owner <owner>', 'the user that its tasks belong to (the name without it)', notEmpty)
    .addHelpText(
      'after',
      helpText(`
Each peer has tasks of its own: only keys of the same owner see them.

Examples:
  sealane invite hermes
  sealane invite hermes --agent main --permission guarded --expires 30d --rate 30/min
  sealane invite hermes --json | jq -r .key`),
    )
    .action((name: string, options: InviteOptions, command: Command) =>
      run(command, (context) => invite(context, name, options)),
    );
};

const peerLifetime = (text: string): number => (text === 'never' ? Infinity : lifetime(text));

const peerPermission = (level: string): string => {
  if (level === 'agent-default')
    throw new InvalidArgumentError(
      "That is for the owner's own key: it has all the rights that the agent has. Choose read-only, guarded or workspace.",
    );
  return knownPermission(level);
};

interface AgentView {
  readonly name: string;
  readonly default: boolean;
}

interface Invitation {
  readonly name: string;
  readonly id: string;
  readonly owner: string;
  readonly permission: string;
  readonly ratePerMinute: number | null;
  readonly expiresAt: string | null;
  readonly key: string;
  readonly agents: readonly InvitedTo[];
  /** What to type to take the key back. */
  readonly revoke: string;
  readonly warnings: readonly string[];
}

interface InvitedTo {
  readonly name: string;
  readonly url: string;
  readonly card: string;
  /** Lines to paste into a shell. */
  readonly curl: { readonly send: string; readonly card: string };
}

const invite = async (context: ClientContext, name: string, options: InviteOptions): Promise<ExitCode> => {
  const { output } = context;
  const client = await context.client();
  // The address that the service itself gives out on its cards: the public one, or else the one we called.
  const { url, agents } = await client.get<{ readonly url: string; readonly agents: readonly AgentView[] }>(
    '/admin/info',
    {},
    ['url', 'agents'],
  );
  const invitedTo = chooseAgents(options.agent ?? [], agents, (agent) => typed('invite', name, '--agent', agent));
  const made = await createKey(client, {
    name,
    owner: options.owner,
    agents: invitedTo,
    permission: options.permission,
    ratePerMinute: options.rate,
    expiresInMs: options.expires === Infinity ? undefined : options.expires,
  }).catch((error: unknown) => {
    throw nameTaken(error, `${typed('keys', 'revoke', name)}   # then invite again; or choose another name`);
  });
  const invitation = describe(made, url, invitedTo, typed('keys', 'revoke', made.name));
  output.result(invitation, () => asText(invitation));
  for (const warning of invitation.warnings) output.note(`\nwarning: ${warning}`);
  return EXIT.ok;
};

/** A peer gets what was named, and one agent when nothing was: never all of them by accident. */
const chooseAgents = (
  wanted: readonly string[],
  agents: readonly AgentView[],
  inviteTo: (agent: string) => string,
): readonly string[] => {
  const names = agents.map((agent) => agent.name);
  const known = names.map((agent) => oneLine(agent)).join(', ') || 'none';
  for (const agent of wanted) {
    if (names.includes(agent)) continue;
    throw new CliError('agent-not-found', `There is no agent "${agent}". Known agents: ${known}.`, {
      next: inviteTo(nearestWord(agent, names) ?? names[0] ?? 'NAME'),
    });
  }
  if (wanted.length > 0) return [...new Set(wanted)];
  const usual = agents.find((agent) => agent.default);
  if (usual) return [usual.name];
  throw new CliError('agent-not-found', `No agent is the default one. Known agents: ${known}.`, {
    next: inviteTo(names[0] ?? 'NAME'),
  });
};

const describe = (
  made: KeyView & { readonly key: string },
  base: string,
  agents: readonly string[],
  revoke: string,
): Invitation => ({
  name: made.name,
  id: made.id,
  owner: made.owner,
  permission: made.permission,
  ratePerMinute: made.ratePerMinute,
  expiresAt: made.expiresAt,
  key: made.key,
  agents: agents.map((name) => {
    const url = `${base}/agents/${encodeURIComponent(name)}`;
    const card = `${url}/.well-known/agent-card.json`;
    return { name, url, card, curl: { send: sendLine(url, made.key), card: cardLine(card, made.key) } };
  }),
  revoke,
  warnings: warningsOf(base),
});

const curl = (...words: readonly string[]): string => ['curl', '-sS', ...words].map(shellWord).join(' ');

const sendLine = (url: string, key: string): string => {
  const message = { messageId: 'hello-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
  const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
  const headers = [`Authorization: Bearer ${key}`, 'A2A-Version: 1.0', 'Content-Type: application/json'];
  return curl(...headers.flatMap((header) => ['-H', header]), '-d', JSON.stringify(body), url);
};

/** With the key: the card of an agent that is not public is shown to those who may use it. */
const cardLine = (card: string, key: string): string => curl('-H', `Authorization: Bearer ${key}`, card);

const warningsOf = (base: string): readonly string[] => {
  const { hostname, protocol } = new URL(base);
  if (isLoopback(hostname))
    return [
      `${base} can be reached from this machine only. For a peer elsewhere, put a proxy that speaks TLS in front and ` +
        `${commandWords().setPublicUrl}. The key stays valid.`,
    ];
  return protocol === 'http:'
    ? [`${base} is plain HTTP: everybody on the way to it can read the key. Put a proxy that speaks TLS in front.`]
    : [];
};

const asText = ({ name, permission, ratePerMinute, expiresAt, key, agents, revoke }: Invitation): readonly string[] => [
  `${name} may use ${agents.map((agent) => agent.name).join(', ')}: ${permission}${ratePerMinute === null ? '' : `, ${ratePerMinute}/min`}, ${expiresAt === null ? 'without an end' : `until ${expiresAt}`}.`,
  '',
  ...agents.flatMap((agent) => [`  address   ${agent.url}`, `  card      ${agent.card}`]),
  `  key       ${key}   (shown this once)`,
  '',
  ...agents.flatMap((agent) => [
    `Send a message to ${agent.name}:`,
    agent.curl.send,
    '',
    `Read the card of ${agent.name}:`,
    agent.curl.card,
    '',
  ]),
  `Take it back: ${revoke}`,
];
