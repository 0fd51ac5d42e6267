import { typed } from '../command-name.ts';
import { oneLine } from '../printable.ts';
import type { FoundOpenclaw } from './find-openclaw.ts';

/** The file beside the configuration that a token is copied into. */
export const TOKEN_FILE = 'openclaw.token';

const HEAD = [
  `# The configuration of Sealane, made by \`sealane init\`. All settings: \`${typed('config', 'show')}\`.`,
  '# A running service takes changes of agents and keys in by itself. After a change:',
  `# ${typed('config', 'check')}`,
  '',
];

const TAIL = [
  '',
  `# Keys for others are made by \`${typed('invite', 'NAME')}\`. What stands here about a name wins:`,
  '# keys:',
  '#   hermes: { agents: [AGENT], permission: guarded, rate: 30/min }',
  '',
  'tasks:',
  '  # Days that ended tasks are kept, with their events; 0 keeps them.',
  '  ttlDays: 7',
  "  # Ends a turn's work.",
  '  timeoutMinutes: 30',
  '',
];

/** The configuration for an agent of OpenClaw, with a comment for each line. There is no secret in it. */
export const openclawSetup = (openclaw: FoundOpenclaw, agentId: string): string => {
  const others = openclaw.agents.filter((id) => id !== agentId);
  return [
    ...HEAD,
    'agents:',
    `  # The name that callers use: ${typed('send', '--agent', agentId, 'hello')}`,
    `  ${JSON.stringify(agentId)}:`,
    '    connector: openclaw',
    '    # By the running Gateway: answers stream, cancel stops the run, and each key has its own permission.',
    '    via: gateway',
    `    # The address of the Gateway${openclaw.hasConfig ? `, from ${oneLine(openclaw.configFile, 1000)}` : ''}.`,
    `    url: ${JSON.stringify(openclaw.url.replaceAll('${', '$${'))}`,
    ...tokenLines(openclaw),
    "    # OpenClaw's id of the agent, as `openclaw agents list` shows it.",
    `    agentId: ${JSON.stringify(agentId)}`,
    '    # It takes the messages that name no agent.',
    '    default: true',
    '    # Runs at the same time; OpenClaw itself has a limit, too.',
    '    concurrency: 8',
    '    # While the Gateway is down, tasks wait for it until their timeout. With `fail` they fail at once.',
    '    whenDown: wait',
    ...(others.length === 0
      ? []
      : [
          `  # OpenClaw has more agents: ${others.join(', ')}. For each, repeat the block above with`,
          '  # its own name and agentId, and without `default`.',
        ]),
    ...TAIL.map((line) => line.replace('AGENT', agentId)),
  ].join('\n');
};

const tokenLines = ({ token }: FoundOpenclaw): readonly string[] => {
  if (token.kind === 'value')
    return [
      `    # The token of the Gateway, copied into a file that only you can read. When OpenClaw gets another,`,
      `    # write it there, or type: ${typed('init', '--force')}`,
      `    token: file:${TOKEN_FILE}`,
    ];
  const name = token.kind === 'variable' ? token.name : 'OPENCLAW_GATEWAY_TOKEN';
  return [
    '    # The token of the Gateway, from this variable of whoever starts Sealane. `file:NAME` reads it from a file.',
    `    token: "\${${name}}"`,
  ];
};

/** The configuration for a first try without OpenClaw. */
export const echoSetup = (): string =>
  [
    ...HEAD,
    'agents:',
    '  # Answers with what it was sent: enough to try everything out.',
    '  echo:',
    '    connector: echo',
    '    # It takes the messages that name no agent.',
    '    default: true',
    '',
    `  # An agent of OpenClaw is found and written here by \`${typed('init', '--force')}\`. A program of your own:`,
    '  # writer:',
    '  #   connector: command',
    '  #   command: [my-agent, --some-flag]',
    ...TAIL.map((line) => line.replace('AGENT', 'echo')),
  ].join('\n');
