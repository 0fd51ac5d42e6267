import { show, verdictOf, type Goal, type Section } from './section.ts';

/** What a result needs to be read later: no names of machines, no paths. */
export interface Circumstances {
  readonly date: string;
  readonly commit: string | undefined;
  readonly node: string;
  readonly platform: string;
  readonly cpus: number;
  readonly rounds: number;
  readonly connections: number;
  readonly quick: boolean;
}

export const toJson = (circumstances: Circumstances, sections: readonly Section[]): string =>
  JSON.stringify(
    {
      ...circumstances,
      sections: sections.map(({ name, title, goals, notes, errors, data }) => ({
        name,
        title,
        goals: goals.map((goal) => ({ ...goal, verdict: verdictOf(goal) })),
        notes,
        errors,
        data,
      })),
    },
    // NaN is not JSON; a number that could not be measured is null.
    (_key, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value),
    2,
  ) + '\n';

export const toMarkdown = (circumstances: Circumstances, sections: readonly Section[]): string => {
  const { date, commit, node, platform, cpus, rounds, connections, quick } = circumstances;
  const facts = [
    date,
    ...(commit ? [`commit ${commit}`] : []),
    `Node ${node}`,
    platform,
    `${cpus} CPUs`,
    `medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`,
    `${connections} connections`,
    ...(quick ? ['quick run: indicative only'] : []),
  ];
  return (
    [
      '# Benchmark',
      facts.join(' · '),
      ...(sections.some(({ goals }) => goals.length > 0) ? ['## Goals', goalTable(sections)] : []),
      ...sections.flatMap(sectionText),
    ].join('\n\n') + '\n'
  );
};

const sectionText = ({ title, columns, rows, notes, errors }: Section): readonly string[] => [
  `## ${title}`,
  ...(rows.length > 0 ? [table(columns, rows)] : []),
  ...notes,
  ...(errors.length > 0 ? [['Errors:', ...errors.map((error) => `- ${error.slice(0, 400)}`)].join('\n')] : []),
];

const goalTable = (sections: readonly Section[]): string =>
  table(
    ['goal', 'wanted', 'measured', ''],
    sections.flatMap(({ goals }) => goals.map((goal) => [goal.what, wanted(goal), measured(goal), verdictText(goal)])),
  );

const wanted = ({ bound, unit }: Goal): string =>
  'atLeast' in bound ? `≥ ${show(bound.atLeast)} ${unit}` : `≤ ${show(bound.atMost)} ${unit}`;

const measured = ({ value, unit }: Goal): string =>
  value === undefined || Number.isNaN(value) ? '–' : `${show(value)} ${unit}`;

const verdictText = (goal: Goal): string => {
  const verdict = verdictOf(goal);
  return goal.note === undefined ? verdict : `${verdict}: ${goal.note}`;
};

/** A table that reads well in a terminal and is Markdown. Numbers, everything but the first column, go to the right. */
const table = (columns: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = columns.map((column, index) =>
    Math.max(3, column.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const isText = (index: number): boolean => index === 0 || columns[index] === '';
  const cell = (text: string, index: number): string =>
    isText(index) ? text.padEnd(widths[index] ?? 0) : text.padStart(widths[index] ?? 0);
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  const rule = widths.map((width, index) => (isText(index) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(columns), line(rule), ...rows.map(line)].join('\n');
};
