import type { Permission } from '../../agent-connector.ts';
import type { RunRights } from './openclaw-runtime.ts';

/**
 * Looking around: files of the workspace, the agent's memory files, the web. Missing are tools that the mode does not
 * confine: `view_image` and `pdf` open the media of all conversations, `memory_search` may look into transcripts.
 */
const LOOKING = ['read', 'ls', 'memory_get', 'web_search', 'web_fetch', 'x_search'] as const;

/** Working in the workspace. Commands are offered, and OpenClaw denies or reviews each of them by the mode. */
const WORKING = [...LOOKING, 'write', 'edit', 'apply_patch', 'exec', 'process'] as const;

/**
 * The tools of callers other than the owner, by name: whatever OpenClaw or its plugins add later is out of reach until
 * somebody lets it in. Missing on purpose: other sessions and agents, messages to channels, jobs, settings, secrets,
 * the browser, the desktop, nodes, and what asks or tells the person at the screen.
 */
export const TOOLS_BY_PERMISSION: Readonly<Record<Exclude<Permission, 'agent-default'>, readonly string[]>> = {
  'read-only': LOOKING,
  guarded: WORKING,
  workspace: WORKING,
};

/** What a run may do for a caller. Not even the operator's own key makes it the owner's. */
export const runRights = (permission: Permission): RunRights =>
  permission === 'agent-default'
    ? { senderIsOwner: false }
    : {
        senderIsOwner: false,
        permissionMode: permission,
        toolsAllow: [...TOOLS_BY_PERMISSION[permission]],
        disableMessageTool: true,
      };
