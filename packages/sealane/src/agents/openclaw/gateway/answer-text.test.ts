import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type AnswerText, createAnswerText, type TextChunk } from './answer-text.ts';

/** What a reader has who takes every chunk. */
const read = (chunks: readonly (TextChunk | undefined)[]): string =>
  chunks.reduce((text, chunk) => (chunk ? (chunk.append ? text : '') + chunk.text : text), '');

describe('the text of an answer', () => {
  it('is told piece by piece, with an empty line between pieces', () => {
    const text = createAnswerText();
    const chunks: (TextChunk | undefined)[] = [];
    for (const [piece, words] of [
      ['1', 'tick'],
      ['1', 'tick tock'],
      ['2', ''],
      ['3', 'done'],
    ] as const) {
      text.set(piece, words);
      chunks.push(text.next());
    }
    expect(chunks).toEqual([
      { text: 'tick', append: false },
      { text: ' tock', append: true },
      undefined,
      { text: '\n\ndone', append: true },
    ]);
  });

  it('replaces what was told when OpenClaw changes its mind', () => {
    const text = createAnswerText();
    text.set('1', 'I think');
    text.next();
    text.set('1', 'No: I know');
    expect(text.next()).toEqual({ text: 'No: I know', append: false });
  });

  it('is not told again when it is heard again', () => {
    const text = createAnswerText();
    text.set('1', 'once');
    text.next();
    text.reset();
    text.set('1', 'once');
    expect(text.next()).toBeUndefined();
  });

  it('has what stands before a tool call, whether that came as words, as a preamble, or as both in any order', () => {
    const words = (text: AnswerText): void => text.set('x:1', 'Let me look.\nFirst');
    const preamble = (text: AnswerText): void => text.set('commentary-1', 'Let me look. First the list.', 'preamble');
    const told = (...steps: readonly ((text: AnswerText) => void)[]): string => {
      const text = createAnswerText();
      for (const step of steps) step(text);
      text.endPiece();
      text.set('x:2', 'Done.');
      return text.whole();
    };
    expect(told(preamble)).toBe('Let me look. First the list.\n\nDone.');
    expect(told(words, preamble)).toBe('Let me look.\nFirst the list.\n\nDone.');
    expect(told(words, preamble, preamble)).toBe('Let me look.\nFirst the list.\n\nDone.');
    expect(told(preamble, words)).toBe('Let me look.\nFirst\n\nDone.');
    expect(told(preamble, words, preamble)).toBe('Let me look.\nFirst the list.\n\nDone.');
  });

  it('keeps two pieces that say the same apart when a tool was called between them', () => {
    const text = createAnswerText();
    text.set('commentary-1', 'Done.', 'preamble');
    text.endPiece();
    text.set('x:2', 'Done.');
    expect(text.whole()).toBe('Done.\n\nDone.');
  });

  it('ends in what the run answered, and what came before a tool call stays', () => {
    const text = createAnswerText();
    text.set('x:1', 'Looking.');
    text.endPiece();
    text.setLast('Found it.');
    text.setLast('Found it. ⚠️ Cut.');
    expect(text.whole()).toBe('Looking.\n\nFound it. ⚠️ Cut.');
  });

  it('goes on with the piece that the transcript had last, under whatever name', () => {
    const text = createAnswerText();
    text.set('run#1', 'Looking.', 'transcript');
    text.set('x:1', 'Looking.');
    text.endPiece();
    text.set('x:2', 'Found it.');
    expect(text.whole()).toBe('Looking.\n\nFound it.');
  });

  it('is in the end what it is, however it came about and whichever steps were told', () => {
    const step = fc.record({
      piece: fc.constantFrom('1', '2', '3'),
      text: fc.string(),
      isTold: fc.boolean(),
      isReset: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const text = createAnswerText();
        const chunks: (TextChunk | undefined)[] = [];
        for (const { piece, text: words, isTold, isReset } of steps) {
          if (isReset) text.reset();
          text.set(piece, words);
          if (isTold) chunks.push(text.next());
        }
        chunks.push(text.next());
        expect(read(chunks)).toBe(text.whole());
      }),
    );
  });
});
