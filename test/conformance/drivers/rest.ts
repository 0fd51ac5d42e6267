import {
  type Answer,
  type CallOptions,
  type Driver,
  headersOf,
  type Item,
  type Operation,
  type Params,
  refusalOf,
  streamOf,
} from './driver.ts';
import { abortable, isEventStream, sseData } from './sse-data.ts';

/** Verb and path; `{…}` takes a param out of the others, which go into the body of a POST or else into the query. */
export const ROUTES: Readonly<Record<Operation, readonly [verb: 'GET' | 'POST' | 'DELETE', path: string]>> = {
  SendMessage: ['POST', '/message:send'],
  SendStreamingMessage: ['POST', '/message:stream'],
  GetTask: ['GET', '/tasks/{id}'],
  ListTasks: ['GET', '/tasks'],
  CancelTask: ['POST', '/tasks/{id}:cancel'],
  SubscribeToTask: ['POST', '/tasks/{id}:subscribe'],
  CreateTaskPushNotificationConfig: ['POST', '/tasks/{taskId}/pushNotificationConfigs'],
  GetTaskPushNotificationConfig: ['GET', '/tasks/{taskId}/pushNotificationConfigs/{id}'],
  ListTaskPushNotificationConfigs: ['GET', '/tasks/{taskId}/pushNotificationConfigs'],
  DeleteTaskPushNotificationConfig: ['DELETE', '/tasks/{taskId}/pushNotificationConfigs/{id}'],
  GetExtendedAgentCard: ['GET', '/extendedAgentCard'],
};

/** HTTP+JSON below `url`. */
export const createRestDriver = (url: string, key: string): Driver => {
  const ask = (
    operation: Operation,
    params: Params,
    options: CallOptions,
    signal: AbortSignal | null = null,
  ): Promise<Response> => {
    const [method, template] = ROUTES[operation];
    const { tenant, ...rest }: Record<string, unknown> = params;
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = rest[name];
      delete rest[name];
      return encodeURIComponent(String(value));
    });
    const hasBody = method === 'POST';
    const query = hasBody ? '' : `?${new URLSearchParams(rest as Record<string, string>).toString()}`;
    return fetch(`${url}${typeof tenant === 'string' ? `/${tenant}` : ''}${path}${query}`, {
      method,
      headers: { ...headersOf(key, options), ...(hasBody && { 'content-type': 'application/a2a+json' }) },
      ...(hasBody && { body: JSON.stringify(rest) }),
      signal,
    });
  };
  const read = async <T>(response: Response): Promise<Answer<T>> => {
    const extensions = response.headers.get('a2a-extensions') ?? '';
    const text = await response.text();
    const json = (text === '' ? {} : JSON.parse(text)) as T & {
      readonly error?: { readonly message: string; readonly details?: Parameters<typeof refusalOf>[2] };
    };
    return response.ok
      ? { extensions, result: json }
      : { extensions, error: refusalOf(response.status, json.error?.message ?? text, json.error?.details) };
  };
  return {
    binding: 'HTTP+JSON',
    call: async (operation, params, options = {}) => read(await ask(operation, params, options)),
    open: async (operation, params, options = {}) => {
      const { signal, leave } = abortable();
      const response = await ask(operation, params, options, signal);
      if (!isEventStream(response) || !response.body) return read(response);
      const extensions = response.headers.get('a2a-extensions') ?? '';
      return { extensions, result: streamOf(sseData<Item>(response.body), leave) };
    },
    close: () => undefined,
  };
};
