import { Metadata } from '@grpc/grpc-js';
import { expect, it } from 'vitest';

import { createAgentRegistry } from '#engine';
import { createProtocol, TASK_LOG } from '#protocol';
import { agentNamed } from '#protocol/agent-named.fixture';
import { NOTES } from '#protocol/extensions/notes.fixture';
import { context, nobody } from '#protocol/refusing-service.fixture';

import { contextOf } from './call-context.ts';

it('a call over gRPC activates every registered extension that its metadata names', () => {
  const registry = createAgentRegistry([agentNamed('main')]);
  const protocol = createProtocol({ service: nobody, registry, version: '0', extensions: [TASK_LOG, NOTES] });
  const metadata = new Metadata();
  metadata.set('a2a-extensions', `urn:unknown, ${NOTES.declaration.uri}`);
  const { caller: holder, signal } = context;
  const { extensions } = contextOf(
    { metadata, authority: 'localhost:7421', holder: { ...holder, ratePerMinute: null }, versions: ['1.0'], signal },
    { protocol, registry, baseUrl: () => 'http://localhost' },
  );
  expect(extensions).toEqual({ activated: [NOTES.declaration.uri], forAgent: [], missing: undefined });
});
