/** What we use of the runtime that OpenClaw hands to a plugin (`api.runtime`). */
export interface OpenclawRuntime {
  readonly config: { current(): unknown };
  readonly events: {
    /** What happens in all runs of the Gateway; answers how to stop listening. */
    onAgentEvent(listener: (event: AnyAgentEvent) => void): () => unknown;
  };
  readonly agent: {
    resolveAgentDir(config: unknown, agentId: string): string;
    resolveAgentWorkspaceDir(config: unknown, agentId: string): string;
    /** Resolves with the payloads and facts of the run; rejects when the model fails or the signal aborts. */
    runEmbeddedAgent(params: EmbeddedRun): Promise<unknown>;
    readonly session: {
      getSessionEntry(place: SessionPlace): SessionEntry | undefined;
      patchSessionEntry(
        patch: SessionPlace & {
          /** The entry to begin with where there is none. */
          readonly fallbackEntry?: SessionEntry;
          readonly update: (entry: SessionEntry) => Partial<SessionEntry> | null;
        },
      ): Promise<SessionEntry | null>;
    };
  };
}

export interface SessionPlace {
  readonly agentId: string;
  readonly sessionKey: string;
  /** `latest`: what another part of the Gateway has just written counts. */
  readonly readConsistency?: 'latest';
}

export interface SessionEntry {
  readonly sessionId: string;
  readonly updatedAt: number;
  readonly permissionMode?: string | undefined;
  /** Above 0 for sessions that something else has begun, and whose runs it answers for. */
  readonly spawnDepth?: number | undefined;
}

/** One run inside the Gateway. */
export interface EmbeddedRun extends RunRights {
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly runId: string;
  readonly prompt: string;
  readonly images?: readonly { readonly type: 'image'; readonly data: string; readonly mimeType: string }[];
  readonly config: unknown;
  readonly workspaceDir: string;
  readonly agentDir: string;
  readonly timeoutMs: number;
  readonly thinkLevel?: string;
  readonly trigger: 'user';
  /** A run that says nothing has failed. */
  readonly terminalReplyExpectation: 'required';
  readonly abortSignal: AbortSignal;
}

export interface AnyAgentEvent {
  readonly runId: string;
  readonly stream: string;
  readonly data: unknown;
}

/** What a run may do. OpenClaw takes whoever does not say so for the owner, with every right. */
export interface RunRights {
  readonly senderIsOwner: false;
  readonly permissionMode?: 'read-only' | 'guarded' | 'workspace';
  readonly toolsAllow?: readonly string[];
  readonly disableMessageTool?: true;
}
