import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { REQUIREMENTS } from './requirements.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Requirements in square brackets at the end of a test's name: `[CORE-SEND-001 CORE-SEND-002]`. */
const CITATION = /\[([A-Z][A-Z_]*(?:-[A-Z]+)*-\d{3}[a-z]?(?: [A-Z][A-Z_]*(?:-[A-Z]+)*-\d{3}[a-z]?)*)\]['"`]/g;

const cited = new Set(
  globSync(['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: ROOT })
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .flatMap((text) => [...text.matchAll(CITATION)].flatMap(([, ids = '']) => ids.split(' '))),
);
const known = new Set(REQUIREMENTS.map(({ id }) => id));

describe('the requirements of A2A', () => {
  it('have names of their own', () => {
    expect(REQUIREMENTS.length).toBe(known.size);
  });

  it('are each cited by a test, as far as they are a server’s', () => {
    const forgotten = REQUIREMENTS.filter(({ id, owner }) => owner === 'server' && !cited.has(id));
    expect(forgotten.map(({ id, sentence }) => `${id}: ${sentence}`)).toEqual([]);
  });

  it('are what tests cite, and nothing else', () => {
    expect([...cited].filter((id) => !known.has(id))).toEqual([]);
  });
});
