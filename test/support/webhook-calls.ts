import type { A2aClient } from './a2a-client.ts';

/** What registers a webhook together with a message. */
export const withWebhook = (config: object): { configuration: object } => ({
  configuration: { taskPushNotificationConfig: config },
});

export const createConfig = (client: A2aClient, taskId: string, config: object): Promise<{ id: string }> =>
  client.call('CreateTaskPushNotificationConfig', { taskId, ...config });

/** Every event of a task, as its log tells it to a stream. */
export const logOf = async (client: A2aClient, id: string): Promise<readonly unknown[]> => {
  const events = await (await client.subscribe(id, 0)).rest();
  return events.map(({ text }) => (JSON.parse(text) as { result: unknown }).result);
};
