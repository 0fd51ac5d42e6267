import type { z } from 'zod';

import { LATER_CONNECTORS } from './agent-schema.ts';
import { isRecord } from './config-file.ts';
import type { SettingPath } from './parse-yaml.ts';
import { configJsonSchema } from './config-schema.ts';
import { nearestWord } from './nearest-word.ts';

interface Explanation {
  readonly path: SettingPath;
  readonly message: string;
}

/** Says in the words of the file what validation found; one unknown key is one explanation. */
export const explainIssue = (
  issue: z.core.$ZodIssue,
  values: unknown,
  isHidden: (path: SettingPath) => boolean,
): readonly Explanation[] => {
  const path = issue.path.filter((step) => typeof step !== 'symbol');
  const given = valueAt(values, path);
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(path, values);
    return issue.keys.map((key) => ({
      path: [...path, key],
      message: `is not a setting${suggest(key, known, known.length < 8)}`,
    }));
  }
  if (given === undefined) return [{ path, message: `is missing${choiceOf(issue)}.` }];
  const inside = insideOf(issue);
  if (inside) return explainIssue({ ...inside, path: [...path, ...inside.path] }, values, isHidden);
  return [
    { path, message: `${sentenceOf(issue, given)}${isHidden(path) || issue.code === 'custom' ? '' : showing(given)}.` },
  ];
};

const sentenceOf = (issue: z.core.$ZodIssue, given: unknown): string => {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return issue.origin === 'array' || (issue.origin === 'string' && issue.minimum === 1)
        ? 'must not be empty'
        : `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      return `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`;
    case 'invalid_value':
      return `must be ${issue.values.map(String).join(', ')}${typeof given === 'string' ? hint(given, issue.values.map(String)) : ''}`;
    case 'invalid_union':
      return issue.errors.length > 0 ? `must be ${kindsOf(issue)}` : connectorSentence(given, optionsOf(issue));
    case 'invalid_key':
      return `is not a possible name: it ${issue.issues[0]?.message ?? 'is not valid'}`;
    case 'invalid_format':
    case 'not_multiple_of':
    case 'invalid_element':
    case 'unrecognized_keys':
    case 'custom':
    default:
      return issue.message;
  }
};

const KINDS: Readonly<Record<string, string>> = {
  number: 'a number',
  int: 'a whole number',
  string: 'a text (in quotes if it looks like a number)',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
};

const optionsOf = (issue: z.core.$ZodIssueInvalidUnion): readonly string[] =>
  'options' in issue ? (issue.options as readonly string[]) : [];

/** A value of one of several kinds: if it is of one of them, what is wrong lies inside. */
const insideOf = (issue: z.core.$ZodIssue): z.core.$ZodIssue | undefined =>
  issue.code === 'invalid_union'
    ? issue.errors.map(([first]) => first).find((first) => first !== undefined && first.path.length > 0)
    : undefined;

const kindsOf = ({ errors }: z.core.$ZodIssueInvalidUnion): string =>
  listed(
    errors.flatMap(([first]) => (first?.code === 'invalid_type' ? [KINDS[first.expected] ?? first.expected] : [])),
  );

const choiceOf = (issue: z.core.$ZodIssue): string => {
  const options = issue.code === 'invalid_union' ? optionsOf(issue) : [];
  return options.length === 0 ? '' : `: use ${listed(options)}`;
};

/** `a, b or c`. */
const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

const connectorSentence = (given: unknown, options: readonly string[]): string => {
  const choice = listed(options);
  if (typeof given !== 'string') return `must be ${choice}`;
  return LATER_CONNECTORS.includes(given)
    ? `is not in this version: use ${choice}`
    : `must be ${choice}${hint(given, [...options, ...LATER_CONNECTORS])}`;
};

/** Short values help to see the mistake; long ones and whole maps do not. */
const showing = (given: unknown): string =>
  (typeof given === 'string' && given.length <= 40 && !given.includes('@')) ||
  typeof given === 'number' ||
  typeof given === 'boolean'
    ? `, not ${JSON.stringify(given)}`
    : '';

const hint = (word: string, known: readonly string[]): string => {
  const near = nearestWord(word, known);
  return near === undefined || near === word ? '' : ` (did you mean ${near}?)`;
};

const suggest = (key: string, known: readonly string[], isShort: boolean): string => {
  const near = nearestWord(key, known);
  if (near !== undefined) return `; did you mean "${near}"?`;
  return isShort ? `; known here: ${known.join(', ')}.` : '; see `sealane config schema`.';
};

const valueAt = (values: unknown, path: SettingPath): unknown =>
  path.reduce<unknown>(
    (value, step) =>
      isRecord(value) || Array.isArray(value) ? ownOf(value as Record<string, unknown>, step) : undefined,
    values,
  );

/** Names may be those of what every object inherits, like `constructor`. */
const ownOf = (values: Readonly<Record<string, unknown>>, step: string | number): unknown =>
  Object.hasOwn(values, step) ? values[step] : undefined;

/** The settings that the published schema knows at a place; where it has a choice, the connector (and `via`) decides. */
const keysAt = (path: SettingPath, values: unknown): readonly string[] => {
  const chosen = (node: Record<string, unknown>, value: unknown): Record<string, unknown> => {
    const options = optionsIn(node);
    if (options.length === 0) return node;
    return options.find((option) => DECIDING.every((name) => isChosen(option, name, value))) ?? {};
  };
  let node: Record<string, unknown> = configJsonSchema();
  let value = values;
  for (const step of path) {
    const here = chosen(node, value);
    const properties = isRecord(here.properties) ? here.properties : {};
    const next = ownOf(properties, step) ?? here.additionalProperties ?? here.items;
    node = isRecord(next) ? next : {};
    value = valueAt(value, [step]);
  }
  const properties = chosen(node, value).properties;
  return isRecord(properties) ? Object.keys(properties) : [];
};

/** Choices may lie inside choices. */
const optionsIn = (node: Record<string, unknown>): readonly Record<string, unknown>[] =>
  Array.isArray(node.oneOf)
    ? node.oneOf.filter(isRecord).flatMap((option) => (Array.isArray(option.oneOf) ? optionsIn(option) : [option]))
    : [];

const DECIDING = ['connector', 'via'] as const;

const isChosen = (option: Record<string, unknown>, name: (typeof DECIDING)[number], value: unknown): boolean => {
  const property = isRecord(option.properties) ? option.properties[name] : undefined;
  return !isRecord(property) || property.const === (isRecord(value) ? value[name] : undefined);
};
