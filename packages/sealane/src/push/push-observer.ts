/**
 * - `delivered`: the webhook said yes (2xx)
 * - `declined`: it said something else, a redirect for instance
 * - `unanswered`: nobody there, or nobody in time
 * - `refused`: its address leads inside, and was not called
 * - `failed`: the event could not be put into words; a bug
 */
export type PushOutcome = 'delivered' | 'declined' | 'unanswered' | 'refused' | 'failed';

/** What metrics and logs are told of deliveries. Of an address only its host is named, and never a secret. */
export interface PushObserver {
  attempted?(facts: {
    readonly outcome: PushOutcome;
    readonly taskId: string;
    readonly webhook: string;
    readonly host: string;
    readonly seq: number;
    readonly status?: number;
    readonly why?: string;
    /** The one before it went wrong, too: one line in a log is enough. */
    readonly isRepeated: boolean;
  }): void;
  problem?(what: string, error: unknown): void;
}
