import { accepted, refusal, webhook } from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeWebhooks = ({ it, expect }: Suite): void => {
  it('belong to a task: saved, replaced, listed and removed by their id', async (c) => {
    const { pushConfigs } = c.storage;
    const { task } = await c.admit();
    const { task: other } = await c.admit();
    const list = async (id: string) => accepted(await pushConfigs.list(c.scope, id));
    const changed = { url: 'https://changed.example' };
    expect(await list(task.id)).toEqual([]);
    accepted(await pushConfigs.save(c.scope, task.id, webhook('b')));
    accepted(await pushConfigs.save(c.scope, task.id, webhook('a')));
    accepted(await pushConfigs.save(c.scope, task.id, webhook('b', { config: changed })));
    accepted(await pushConfigs.save(c.scope, other.id, webhook('a')));
    const a = { taskId: task.id, id: 'a', config: webhook('a').config, status: 'active' };
    const b = { taskId: task.id, id: 'b', config: changed, status: 'active' };
    expect(await list(task.id)).toEqual([a, b]);
    expect(accepted(await pushConfigs.remove(c.scope, task.id, 'a'))).toBe(true);
    expect(accepted(await pushConfigs.remove(c.scope, task.id, 'a'))).toBe(false);
    expect(await list(task.id)).toEqual([b]);
    expect(await list(other.id)).toHaveLength(1);
  });

  it('`absent`: a foreign task is as unknown as one that does not exist', async (c) => {
    const { pushConfigs } = c.storage;
    const { task } = await c.admit();
    accepted(await pushConfigs.save(c.scope, task.id, webhook('a')));
    const elsewhere = [
      [c.scope, c.name('unknown')],
      [{ ...c.scope, owner: c.name('stranger') }, task.id],
      [{ ...c.scope, tenant: 'another' }, task.id],
      [{ ...c.scope, agent: c.name('another') }, task.id],
    ] as const;
    for (const [scope, id] of elsewhere) {
      expect(refusal(await pushConfigs.save(scope, id, webhook('stolen')))).toBe('absent');
      expect(refusal(await pushConfigs.list(scope, id))).toBe('absent');
      expect(refusal(await pushConfigs.remove(scope, id, 'a'))).toBe('absent');
    }
    expect(accepted(await pushConfigs.list('all', task.id))).toHaveLength(1);
  });

  it('`push-full`: a task has at most as many as it may, and known ones can still be replaced', async (c) => {
    const { pushConfigs } = c.storage;
    const { task } = await c.admit();
    const save = async (id: string) =>
      refusal(await pushConfigs.save(c.scope, task.id, webhook(id, { limit: 3, config: { id } })));
    for (const id of ['a', 'b', 'c']) expect(await save(id)).toBe('accepted');
    expect(await save('d')).toBe('push-full');
    expect(await save('b')).toBe('accepted');
    accepted(await pushConfigs.remove(c.scope, task.id, 'a'));
    expect(await save('d')).toBe('accepted');
    expect(accepted(await pushConfigs.list(c.scope, task.id)).map(({ id }) => id)).toEqual(['b', 'c', 'd']);
  });

  it('come with an admission, or with a follow-up', async (c) => {
    const { pushConfigs } = c.storage;
    const id = await c.interrupted(await c.instance(), { push: webhook('first') });
    const followed = await c.follow(id, { push: webhook('second') });
    expect(refusal(followed)).toBe('accepted');
    expect(accepted(await pushConfigs.list(c.scope, id)).map(({ id: own }) => own)).toEqual(['first', 'second']);
  });

  it('a refused follow-up brings no webhook, and one too many refuses the follow-up', async (c) => {
    const { pushConfigs } = c.storage;
    const me = await c.instance();
    const asked = await c.interrupted(me, { push: webhook('first') });
    expect(refusal(await c.follow(asked, { push: webhook('second', { limit: 1 }) }))).toBe('push-full');
    expect((await c.task(asked)).state).toBe('input-required');
    const run = await c.start(me);
    expect(refusal(await c.follow(run.token.taskId, { push: webhook('busy') }))).toBe('busy');
    expect(accepted(await pushConfigs.list(c.scope, run.token.taskId))).toEqual([]);
    const waiting = await c.interrupted(me, { session: c.name('main') });
    await c.admit();
    const limits = { laneWaiting: 1, ownerWaiting: 0 };
    expect(refusal(await c.follow(waiting, { push: webhook('third'), limits }))).toBe('full');
    expect(accepted(await pushConfigs.list(c.scope, waiting))).toEqual([]);
  });

  it('one without an id of its own that comes again with a follow-up is the one that is there', async (c) => {
    const { pushConfigs } = c.storage;
    const id = await c.interrupted(await c.instance(), { push: webhook('made') });
    const again = webhook('made later', { config: webhook('made').config, isRepeatable: true });
    accepted(await c.follow(id, { push: again }));
    expect(accepted(await pushConfigs.list(c.scope, id)).map(({ id: own }) => own)).toEqual(['made']);
  });

  it('can be saved for a task that has ended', async (c) => {
    const run = await c.start(await c.instance());
    await c.complete(run);
    const { taskId } = run.token;
    accepted(await c.storage.pushConfigs.save(c.scope, taskId, webhook('late')));
    expect(accepted(await c.storage.pushConfigs.list(c.scope, taskId))).toHaveLength(1);
  });
};
