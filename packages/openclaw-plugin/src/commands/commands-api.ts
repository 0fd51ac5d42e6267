import type { Command } from 'sealane/cli';

/** What commands use of the API that OpenClaw hands to a plugin. Not all of it is there in every mode: ask late. */
export interface CommandsApi {
  readonly runtime: CommandsRuntime;
  registerCli(
    registrar: (context: CommandsContext) => Promise<void>,
    options: { readonly descriptors: readonly CommandDescriptor[] },
  ): void;
}

export interface CommandsRuntime {
  readonly config: ConfigFile;
  readonly state: { resolveStateDir(): string };
}

export interface CommandsContext {
  /** OpenClaw's own program. */
  readonly program: Command;
  /** OpenClaw's configuration with every reference in it resolved. */
  readonly config: unknown;
}

export interface CommandDescriptor {
  readonly name: string;
  readonly description: string;
  readonly hasSubcommands: boolean;
  /** Whether standard output belongs to results alone, and OpenClaw's own words go elsewhere. */
  readonly machineOutput?: (call: { readonly argv: readonly string[]; readonly stdoutIsTTY: boolean }) => boolean;
}

/** OpenClaw's configuration file, which OpenClaw itself writes: whatever is not changed stays as it was. */
export interface ConfigFile {
  mutateConfigFile<T>(change: {
    /** `auto`: a running Gateway takes the change in by itself, in the way that the change needs. */
    readonly afterWrite: { readonly mode: 'auto' };
    /** May be called again when somebody else was faster. */
    readonly mutate: (draft: ConfigDraft) => T;
  }): Promise<{ readonly path: string; readonly result?: T }>;
}

/** The parts of the configuration that we write, to be changed in place. */
export interface ConfigDraft {
  channels?: { a2a?: { enabled?: boolean } };
  plugins?: { entries?: Record<string, PluginEntry> };
}

export interface PluginEntry {
  config?: Record<string, unknown>;
}
