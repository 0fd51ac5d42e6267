import type { Output } from '../output.ts';
import { printable } from '../printable.ts';
import type { Finding } from './check-gateway.ts';
import type { FoundOpenclaw } from './find-openclaw.ts';
import type { WrittenSetup } from './write-setup.ts';

export interface SetupReport {
  readonly file: string;
  readonly agent: string;
  readonly openclaw: FoundOpenclaw | undefined;
  readonly findings: readonly Finding[];
  readonly written: WrittenSetup;
  /** What to type now. */
  readonly next: readonly string[];
}

/** What was found, checked and written, for programs and for people. The token is in neither. */
export const describeSetup = (
  { file, agent, openclaw, findings, written, next }: SetupReport,
  style: Output['style'],
): { readonly json: object; readonly text: readonly string[] } => ({
  json: {
    ok: findings.every(({ level }) => level !== 'failed'),
    file,
    written: true,
    tokenFile: written.tokenFile ?? null,
    kept: written.kept ?? null,
    agent,
    openclaw: openclaw
      ? {
          configFile: openclaw.hasConfig ? openclaw.configFile : null,
          program: openclaw.program ?? null,
          url: openclaw.url,
          agents: openclaw.agents,
          warnings: openclaw.warnings,
        }
      : null,
    checks: findings,
    next,
  },
  text: [
    ...(openclaw ? foundLines(openclaw) : []),
    ...findings.flatMap((finding) => findingLines(finding, style)),
    ...(written.kept === undefined ? [] : [`kept      ${written.kept}`]),
    ...(written.tokenFile === undefined ? [] : [`written   ${written.tokenFile}   (the token; only you can read it)`]),
    `written   ${file}`,
    '',
    'What to do next:',
    ...next.map(
      (line, index) => `  ${line.padEnd(Math.max(...next.map(({ length }) => length)))}   # ${PURPOSES[index] ?? ''}`,
    ),
  ],
});

const PURPOSES = ['start the service', 'ask the agent', 'let a peer in: prints address and key'];

const foundLines = ({ hasConfig, configFile, program, url }: FoundOpenclaw): readonly string[] => [
  `OpenClaw  ${[hasConfig ? configFile : undefined, program].filter((part) => part !== undefined).join(', ')}`,
  `Gateway   ${url}`,
];

const SIGNS = { ok: ['green', '✓'], advice: ['dim', '·'], warning: ['yellow', '!'], failed: ['red', '✗'] } as const;

const findingLines = ({ name, level, detail, next }: Finding, style: Output['style']): readonly string[] => {
  const [color, sign] = SIGNS[level];
  return [
    `${style(color, sign)} ${name.padEnd(12)} ${printable(detail)}`,
    ...(next === undefined ? [] : [`  ${''.padEnd(12)} next: ${printable(next)}`]),
  ];
};
