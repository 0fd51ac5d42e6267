import { describe, expect, it } from 'vitest';

import type { Part } from '#domain';

import { incomingMessage, withoutCommand } from './incoming-message.ts';

const read = (...parts: readonly Part[]) => incomingMessage({ messageId: 'm', role: 'ROLE_USER', parts });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a message for OpenClaw', () => {
  it('joins texts, data, links and text files in their order', () => {
    const note = { raw: base64('milk'), mediaType: 'text/markdown', filename: 'list.md' };
    expect(read({ text: 'one' }, { data: [1] }, { url: 'https://files.example/a', filename: 'a' }, note)).toEqual({
      ok: true,
      text: 'one\n\n[\n  1\n]\n\nFile a: https://files.example/a\n\nFile list.md:\nmilk',
      images: [],
    });
  });

  it('has its images as attachments, and a text even if it is nothing but an image', () => {
    expect(read({ raw: 'AAAA', mediaType: 'image/png' })).toEqual({
      ok: true,
      text: 'See the attached image.',
      images: [{ type: 'image', mimeType: 'image/png', fileName: 'image-1', content: 'AAAA' }],
    });
  });

  it('has the same media types in capital letters', () => {
    expect(read({ raw: 'AAAA', mediaType: 'IMAGE/PNG' })).toMatchObject({ images: [{ mimeType: 'image/png' }] });
    expect(read({ raw: base64('milk'), mediaType: 'Text/Plain', filename: 'a' })).toMatchObject({
      text: 'File a:\nmilk',
    });
  });

  it.each([
    [{ raw: 'AAAA', mediaType: 'application/zip', filename: 'all.zip' }, 'all.zip is application/zip'],
    [{ raw: 'AAAA' }, 'a file is of no known type'],
    [{ text: '  ' }, 'The message is empty'],
  ])('is refused when OpenClaw could not read %o', (part, why) => {
    expect(read(part)).toMatchObject({ ok: false, why: expect.stringContaining(why) as string });
  });

  it.each([
    ['/new', '\\/new'],
    [' \n/reset now', ' \n\\/reset now'],
    ['say /new', 'say /new'],
    ['https://files.example/', 'https://files.example/'],
  ])('of somebody else is no command: %j', (text, escaped) => {
    expect(withoutCommand(text)).toBe(escaped);
  });
});
