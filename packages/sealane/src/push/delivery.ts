import type { Event } from '#domain';
import { isPassing, type PushConfig, pushConfigOf, type TaskIdentity } from '#engine';
import type { OutboxStore, PushConfigRecord, StoredTask } from '#store';

import type { PushObserver, PushOutcome } from './push-observer.ts';
import { taskAt } from './task-at.ts';
import type { WebhookClient } from './webhook-client.ts';

/** An event to tell a webhook. */
export interface PushNews {
  readonly config: PushConfig;
  readonly event: Event;
  readonly task: TaskIdentity;
  /** Loads the whole task as it was after the event, for bodies that contain it. It may fold the log. */
  readonly taskThen: () => Promise<StoredTask | undefined>;
}

export interface PushBody {
  readonly body: string;
  readonly contentType: string;
}

/** Encodes an event in the webhook's dialect. Undefined: the dialect does not tell such events. */
export type EncodePush = (news: PushNews) => Promise<PushBody | undefined>;

/** An event, and the webhook to which it is owed. */
export interface OwedNews {
  readonly webhook: PushConfigRecord;
  readonly follower: number;
  /** Tells two tasks apart that had the same id, one after the other. */
  readonly life: number;
  readonly event: Event;
  readonly task: TaskIdentity;
}

/**
 * Sends one event to one webhook, once. Undefined: there was nothing to send. Throws only if the store was unreachable
 * and nothing was sent: the webhook has not failed then, and the event stays owed.
 */
export type Deliver = (
  news: OwedNews,
  options: { readonly isRepeated: boolean; readonly signal: AbortSignal },
) => Promise<PushOutcome | undefined>;

export const createDeliver = (options: {
  readonly outbox: Pick<OutboxStore, 'task' | 'log'>;
  readonly client: WebhookClient;
  readonly encode: EncodePush;
  readonly userAgent: string;
  readonly observers: readonly PushObserver[];
}): Deliver => {
  const { outbox, client, encode, userAgent, observers } = options;

  const headersOf = (config: PushConfig, contentType: string): Record<string, string> => {
    const authorization = authorizationOf(config);
    return {
      'content-type': contentType,
      'a2a-version': config.dialect,
      'user-agent': userAgent,
      ...(authorization !== undefined && { authorization }),
      ...(config.token !== undefined && { 'x-a2a-notification-token': config.token }),
    };
  };

  return async ({ webhook, follower, life, event, task }, { isRepeated, signal }) => {
    const taskId = task.id;
    const config = pushConfigOf(webhook);
    const tell = (outcome: PushOutcome, facts: { status?: number; why?: string } = {}): PushOutcome => {
      // A delivery that our own stop cut short is retried later, so it is not reported.
      if (outcome !== 'delivered' && signal.aborted) return outcome;
      const where = { taskId, webhook: webhook.id, host: hostOf(config.url), seq: event.seq };
      for (const observer of observers) observer.attempted?.({ outcome, ...where, ...facts, isRepeated });
      return outcome;
    };
    try {
      const news = await encode({ config, event, task, taskThen: () => taskAt(outbox, follower, event.seq) });
      if (!news) return undefined;
      const headers = { ...headersOf(config, news.contentType), 'webhook-id': `${taskId}.${life}.${event.seq}` };
      const answer = await client.post({ url: config.url, headers, body: news.body }, signal);
      if (answer.kind !== 'answered') return tell(answer.kind, { why: answer.why });
      const { status } = answer;
      return tell(status >= 200 && status < 300 ? 'delivered' : 'declined', { status });
    } catch (error) {
      if (isPassing(error)) throw error;
      for (const observer of observers) observer.problem?.('An event could not be sent to a webhook', error);
      return tell('failed');
    }
  };
};

/** Receivers from before 1.0 expect the token as a bearer token, if the webhook has no credentials. */
const authorizationOf = ({ dialect, token, authentication }: PushConfig): string | undefined => {
  if (authentication?.credentials !== undefined) return `${authentication.scheme} ${authentication.credentials}`;
  const isBearer = (authentication?.scheme ?? 'bearer').toLowerCase() === 'bearer';
  return token !== undefined && isBearer && dialect.startsWith('0.') ? `Bearer ${token}` : undefined;
};

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : '');
