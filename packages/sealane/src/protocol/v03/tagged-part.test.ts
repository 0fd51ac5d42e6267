import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Part, SealaneError } from '#domain';

import { decodeTaggedParts, taggedPartOf } from './tagged-part.ts';

const decode = (part: unknown): Part => decodeTaggedParts([part], 'parts', 'kind')[0]!;

describe('parts of older dialects', () => {
  it.each([
    ['no array', 'text', 'parts'],
    ['an empty array', [], 'parts'],
    ['too many', Array.from({ length: 101 }, () => ({ kind: 'text', text: '' })), 'parts'],
  ])('are refused: %s', (_name, parts, field) => {
    expect(() => decodeTaggedParts(parts, 'parts', 'kind')).toThrow(
      expect.objectContaining({ code: 'invalid-params', facts: { field } }) as Error,
    );
  });

  it.each([
    ['null', null, 'parts[0]'],
    ['a list', [], 'parts[0]'],
    ['nothing in it', {}, 'parts[0].kind'],
    ['two things in it, without a kind', { text: 'a', data: {} }, 'parts[0].kind'],
    ['a kind of another dialect', { kind: 'raw', raw: 'YQ==' }, 'parts[0].kind'],
    ['a kind that is an object', { kind: { toString: 'text' }, text: 'a' }, 'parts[0].kind'],
    ['a kind of every object', { kind: 'constructor' }, 'parts[0].kind'],
    ['a text without text', { kind: 'text' }, 'parts[0].text'],
    ['a text that is a number', { kind: 'text', text: 1 }, 'parts[0].text'],
    ['a NUL', { kind: 'text', text: 'a\0' }, 'parts[0].text'],
    ['half a surrogate pair', { kind: 'text', text: '\ud800' }, 'parts[0].text'],
    ['a file without file', { kind: 'file' }, 'parts[0].file'],
    ['a file of nothing', { kind: 'file', file: {} }, 'parts[0].file'],
    ['a file twice', { kind: 'file', file: { bytes: 'YQ==', uri: 'https://a.b/' } }, 'parts[0].file'],
    ['bytes that are no base64', { kind: 'file', file: { bytes: 'a b' } }, 'parts[0].file.bytes'],
    ['a relative uri', { kind: 'file', file: { uri: '/etc/passwd' } }, 'parts[0].file.uri'],
    ['a long name', { kind: 'file', file: { uri: 'https://a.b/', name: 'x'.repeat(2000) } }, 'parts[0].file.name'],
    ['data that is a list', { kind: 'data', data: [] }, 'parts[0].data'],
    ['data that is null', { kind: 'data', data: null }, 'parts[0].data'],
    ['a forbidden key', JSON.parse('{"kind":"data","data":{"a":{"__proto__":1}}}'), 'parts[0].data.a'],
    ['metadata that is a text', { kind: 'text', text: 'a', metadata: 'b' }, 'parts[0].metadata'],
  ])('are refused with the field at fault: %s', (_name, part, field) => {
    expect(() => decode(part)).toThrow(expect.objectContaining({ code: 'invalid-params', facts: { field } }) as Error);
  });

  it('are taken without a kind, or with the word of another dialect, where their member decides', () => {
    expect(decode({ type: 'text', text: 'a' })).toEqual({ text: 'a' });
    expect(decodeTaggedParts([{ kind: 'data', data: { a: 1 } }], 'parts', 'type')).toEqual([{ data: { a: 1 } }]);
    expect(decode({ text: '', data: null })).toEqual({ text: '' });
  });

  it('survive the way to an older dialect and back', () => {
    const metadata = fc.option(fc.constantFrom({ a: 1 }, { b: { c: [null] } }), { nil: undefined });
    const named = { filename: fc.constantFrom('', 'a.txt'), mediaType: fc.constantFrom('', 'text/plain') };
    const base64 = fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64'));
    const part = fc.oneof(
      fc.record({ text: fc.string(), metadata }),
      fc.record({ raw: base64, metadata, ...named }),
      fc.record({ url: fc.webUrl(), metadata, ...named }),
      fc.record({ data: fc.jsonValue(), metadata }),
    );
    fc.assert(
      fc.property(part, fc.constantFrom('kind' as const, 'type' as const), (given, tag) => {
        const wanted = JSON.parse(
          JSON.stringify(given, (_key, value: unknown) =>
            value === '' && _key !== 'text' && _key !== 'raw' ? undefined : value,
          ),
        ) as Part;
        fc.pre(!JSON.stringify(given).includes('__proto__') && !JSON.stringify(given).includes('\\u0000'));
        const shown: unknown = JSON.parse(JSON.stringify(taggedPartOf(given as Part, tag)));
        const back = decodeTaggedParts([shown], 'parts', tag)[0];
        expect('data' in given ? { ...back, data: 0 } : back).toEqual(
          'data' in given ? { ...wanted, data: 0 } : wanted,
        );
        if ('data' in given) expect(back?.data).toEqual(JSON.parse(JSON.stringify(given.data)));
      }),
    );
  });

  it('of any content at all are taken or refused, never more than that', () => {
    const member = fc.oneof(fc.jsonValue(), fc.constantFrom('text', 'file', 'data'));
    const part = fc.record(
      {
        kind: member,
        text: member,
        file: fc.oneof(member, fc.record({ bytes: member, uri: member, name: member })),
        data: member,
        metadata: member,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(part, fc.jsonValue()), (value) => {
        try {
          decode(value);
        } catch (error) {
          expect(error).toBeInstanceOf(SealaneError);
        }
      }),
    );
  });
});
