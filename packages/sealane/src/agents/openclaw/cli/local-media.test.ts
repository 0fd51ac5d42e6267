import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, describe, expect, it } from 'vitest';

import { readLocalMedia } from './local-media.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealane-media-'));
const workspace = join(directory, 'workspace');
const sibling = join(directory, 'workspace-of-others');
for (const one of [workspace, sibling]) {
  mkdirSync(one);
  writeFileSync(join(one, 'cat.png'), 'meow');
}
symlinkSync(join(sibling, 'cat.png'), join(workspace, 'linked.png'));
execFileSync('mkfifo', [join(workspace, 'pipe.png')]);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const read = (place: string, maxBytes = 100) => readLocalMedia(place, { roots: [workspace], workspace, maxBytes });
const CAT = { raw: Buffer.from('meow').toString('base64'), mediaType: 'image/png', filename: 'cat.png' };

describe('a file that a run sends', () => {
  it.each([
    ['by a relative path', './cat.png'],
    ['by an absolute path', join(workspace, 'cat.png')],
    ['by a file link', pathToFileURL(join(workspace, 'cat.png')).href],
  ])('is read %s in the workspace', async (_, place) => {
    expect(await read(place)).toEqual(CAT);
  });

  it('stays a link where it is one', async () => {
    const url = 'https://files.example/a%20dog.jpg';
    expect(await read(url)).toEqual({ url, mediaType: 'image/jpeg', filename: 'a dog.jpg' });
  });

  it('has a type whatever its name ends in', async () => {
    const { mediaType } = (await read('https://files.example/a.constructor')) ?? {};
    expect(mediaType).toBe('application/octet-stream');
  });

  it.each([
    ['in a directory that begins with the same name', join(sibling, 'cat.png')],
    ['above the workspace', '../workspace-of-others/cat.png'],
    ['behind a link that leads out', './linked.png'],
    ['that is a pipe', './pipe.png'],
    ['that is a directory', '.'],
    ['that is not there', './dog.png'],
    ['of the system', '/etc/hostname'],
    ['on another host', 'file://elsewhere/etc/hostname'],
    ['of a strange kind', 'ftp://files.example/cat.png'],
  ])('is not read %s', async (_, place) => {
    expect(await read(place)).toBeUndefined();
  });

  it('is not read when it is too large', async () => {
    expect(await read('./cat.png', 4)).toEqual(CAT);
    expect(await read('./cat.png', 3)).toBeUndefined();
  });

  it('is not read by a relative path when nobody knows from where', async () => {
    expect(await readLocalMedia('./cat.png', { roots: [workspace], maxBytes: 100 })).toBeUndefined();
  });
});
