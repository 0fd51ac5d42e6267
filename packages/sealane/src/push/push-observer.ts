/**
 * - `delivered`: the webhook answered 2xx
 * - `declined`: the webhook answered something else, for instance a redirect
 * - `unanswered`: the webhook was unreachable, or did not answer in time
 * - `refused`: the address is not on the public internet, and was not called
 * - `failed`: the event could not be encoded; a bug
 */
export type PushOutcome = 'delivered' | 'declined' | 'unanswered' | 'refused' | 'failed';

/** What metrics and logs are told about deliveries: of an address only the host, and never a secret. */
export interface PushObserver {
  attempted?(facts: {
    readonly outcome: PushOutcome;
    readonly taskId: string;
    readonly webhook: string;
    readonly host: string;
    readonly seq: number;
    readonly status?: number;
    readonly why?: string;
    /** The delivery before this one failed, too: one line in a log is enough. */
    readonly isRepeated: boolean;
  }): void;
  problem?(what: string, error: unknown): void;
}
