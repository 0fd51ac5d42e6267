import { complaintsOf, runLoad, type LoadOptions, type LoadResult, type Workload } from './load.ts';
import { rpcRequest, userMessage } from './requests.ts';

/** Where tasks are made, and over how many connections. */
export type Target = Pick<LoadOptions, 'port' | 'connections' | 'signal'>;

/** Long enough for every count used here. A load ends before, when all requests are answered. */
const LIMIT_MS = 60_000;
const LANES = 30;
/** Longer than any measurement: a lane is held until its run is canceled. */
const HOLD_MS = 3_600_000;

interface SendAnswer {
  readonly result?: { readonly task?: { readonly id: string; readonly status: { readonly state: string } } };
}

/** Answers the ids of `count` new tasks. Each must be in one of the states, or the measurement would be of something else. */
const makeTasks = async (
  target: Target,
  count: number,
  states: readonly string[],
  paramsOf: (n: number) => object,
): Promise<string[]> => {
  const ids: string[] = [];
  const workload: Workload = {
    request: (n) => rpcRequest('SendMessage', paramsOf(n)),
    fault: (_n, body) => {
      const task = (JSON.parse(body.toString()) as SendAnswer).result?.task;
      if (task === undefined || !states.includes(task.status.state)) return `not ${states[0]}: ${body.toString()}`;
      ids.push(task.id);
      return undefined;
    },
  };
  const [complaint] = complaintsOf(
    'new tasks',
    await runLoad(workload, { ...target, durationMs: LIMIT_MS, atMost: count }),
  );
  if (complaint !== undefined) throw new Error(complaint);
  return ids;
};

const makeAskingTasks = (target: Target, count: number): Promise<string[]> =>
  makeTasks(target, count, ['TASK_STATE_INPUT_REQUIRED'], (n) => ({
    message: userMessage(`ask-${n}`, '@ask which one?'),
  }));

/** Sends one request for each task, as fast as the target answers. */
const runOnce = (
  target: Target,
  ids: readonly string[],
  state: string,
  requestOf: (id: string) => string,
): Promise<LoadResult> => {
  const requests = ids.map((id) => ({ id, text: requestOf(id) }));
  const asked = new Map<number, string>();
  let next = 0;
  const workload: Workload = {
    request: (n) => {
      const request = requests[next++];
      if (request === undefined) throw new Error('there are fewer tasks than requests');
      asked.set(n, request.id);
      return request.text;
    },
    fault: (n, body) =>
      body.includes(`"id":"${asked.get(n)}"`) && body.includes(`"state":"${state}"`)
        ? undefined
        : `not ${state}: ${body.toString()}`,
  };
  return runLoad(workload, { ...target, durationMs: LIMIT_MS, atMost: ids.length });
};

const cancelAll = (target: Target, ids: readonly string[]): Promise<LoadResult> =>
  runOnce(target, ids, 'TASK_STATE_CANCELED', (id) => rpcRequest('CancelTask', { id }));

/** Answers the questions of tasks that asked one, which completes them. Only the answers are measured. */
export const answerQuestions = async (target: Target, count: number): Promise<LoadResult> => {
  const ids = await makeAskingTasks(target, count);
  return runOnce(target, ids, 'TASK_STATE_COMPLETED', (id) =>
    rpcRequest('SendMessage', { message: { ...userMessage(`answer-${id}`, 'the second one'), taskId: id } }),
  );
};

/** Cancels tasks that wait for an answer. Only the cancels are measured. */
export const cancelQuestions = async (target: Target, count: number): Promise<LoadResult> =>
  cancelAll(target, await makeAskingTasks(target, count));

let queues = 0;

/** Cancels tasks that wait in their lanes, each behind a run that does not end. Only these cancels are measured. */
export const cancelQueued = async (target: Target, count: number): Promise<LoadResult> => {
  const queue = `queue-${++queues}`;
  const paramsOf =
    (text: string) =>
    (n: number): object => ({
      // Requests are numbered without gap, so every lane gets its share.
      message: { ...userMessage(`${queue}-${n}`, text), contextId: `${queue}-${n % LANES}` },
      configuration: { returnImmediately: true },
    });
  const held = await makeTasks(
    target,
    LANES,
    ['TASK_STATE_WORKING', 'TASK_STATE_SUBMITTED'],
    paramsOf(`@sleep ${HOLD_MS}`),
  );
  const ids = await makeTasks(target, count, ['TASK_STATE_SUBMITTED'], paramsOf('one more'));
  const result = await cancelAll(target, ids);
  const [complaint] = complaintsOf('cancel of what held the lanes', await cancelAll(target, held));
  if (complaint !== undefined) throw new Error(complaint);
  return result;
};
