import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { z } from 'zod';

import type { Part } from '#domain';

import { mediaPart, mediaTypeOf } from '../media-parts.ts';
import type { GatewaySocket } from './gateway-socket.ts';

const agentList = z.object({ agents: z.array(z.object({ id: z.string(), workspace: z.string().optional() })) });
const fileAnswer = z.object({
  file: z.object({
    name: z.string(),
    mimeType: z.string().optional(),
    encoding: z.enum(['base64', 'utf8']),
    content: z.string(),
  }),
});

/**
 * A file that a run sends, as a part. A link stays a link. A file on the Gateway's machine is read by the Gateway, and
 * only out of the agent's workspace: the text of a model names it, and could name any file at all.
 */
export const readMedia = async (socket: GatewaySocket, agentId: string, place: string): Promise<Part | undefined> => {
  const linked = mediaPart(place);
  if (linked) return linked;
  const path = await workspacePath(socket, agentId, place);
  if (path === undefined) return undefined;
  const { data } = fileAnswer.safeParse(await socket.request('agents.workspace.get', { agentId, path }));
  if (!data) return undefined;
  const { name, mimeType, encoding, content } = data.file;
  const raw = encoding === 'base64' ? content : Buffer.from(content, 'utf8').toString('base64');
  // To the Gateway every text is plain.
  const isImage = mimeType?.startsWith('image/') === true;
  return { raw, mediaType: isImage ? mimeType : mediaTypeOf(name, mimeType), filename: name };
};

/** The Gateway takes paths within the workspace alone, and checks them. */
const workspacePath = async (socket: GatewaySocket, agentId: string, place: string): Promise<string | undefined> => {
  if (/^(?!file:)[a-z][a-z0-9+.-]+:/i.test(place)) return undefined;
  const path = place.startsWith('file:') ? fileURLToPath(place) : place;
  if (!isAbsolute(path)) return path.replace(/^\.\//, '');
  const { agents } = agentList.parse(await socket.request('agents.list', {}));
  const workspace = agents.find(({ id }) => id === agentId.toLowerCase())?.workspace;
  const inside = workspace === undefined ? '..' : relative(workspace, path);
  return inside.startsWith('..') || isAbsolute(inside) ? undefined : inside;
};
