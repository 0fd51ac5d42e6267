import { describe, expect, it } from 'vitest';

import { createAgentRegistry } from '#engine';

import { createProtocol } from '../protocol.ts';
import { nobody, refuse } from '../refusing-service.fixture.ts';
import type { Extension } from './extension.ts';
import { NOTES } from './notes.fixture.ts';
import { TASK_LOG } from './task-log.ts';

const start = (...extensions: readonly Extension[]) =>
  createProtocol({ service: nobody, registry: createAgentRegistry([]), version: '0', extensions });

const withMethod = (name: string): Extension => ({
  declaration: { uri: 'urn:example:other' },
  methods: () => new Map([[name, refuse]]),
});

const refused = (...words: readonly string[]): object =>
  expect.objectContaining({ code: 'bad-config', message: expect.stringContaining(words.join('')) as string }) as object;

describe('a protocol does not start', () => {
  it.each([
    ['GetTask', 'A2A 1.0'],
    ['message/send', 'A2A 0.3'],
    ['tasks/send', 'A2A 0.1'],
    ['tasks/delete', `the extension ${TASK_LOG.declaration.uri}`],
    ['notes/read', 'the extension urn:example:notes'],
  ])('when an extension has a method "%s", which is one of %s', (name, holder) => {
    const message = `urn:example:other has a method "${name}", but ${holder} has one of that name. Rename it.`;
    expect(() => start(TASK_LOG, NOTES, withMethod(name))).toThrow(refused(message));
  });

  it('when an extension is registered twice', () => {
    expect(() => start(TASK_LOG, NOTES, NOTES)).toThrow(refused('urn:example:notes is registered twice'));
  });

  it('when an address belongs to a method that its extension does not have', () => {
    const routes = [{ verb: 'GET', path: '/others', method: 'notes/read' } as const];
    const message = 'urn:example:other has no method "notes/read" for its address GET /others';
    expect(() => start(NOTES, { ...withMethod('other'), routes })).toThrow(refused(message));
  });
});

it('an extension takes the place of the task log where that is not registered', () => {
  const { extensions, extensionRoutes } = start(NOTES);
  expect([...extensions.methods.keys()]).toEqual(['notes/read']);
  expect(extensionRoutes).toEqual(NOTES.routes);
});
