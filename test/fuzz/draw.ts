import type { FuzzRandom } from './fuzz-random.ts';
import { strangeText } from './junk.ts';

/** The names that requests are made with. Lists that answers refresh keep their length, so a draw means the same place. */
export interface FuzzNames {
  /** Tasks of the caller. */
  readonly own: string[];
  /** Names that the caller gave its tasks itself, as the oldest protocol has it. */
  readonly given: readonly string[];
  readonly ownContexts: string[];
  readonly ownConfigs: readonly string[];
  /** Tasks of the caller's that are named only together with their webhook, so that both stay there for a while. */
  readonly ownPairs: readonly (readonly [taskId: string, configId: string])[];
  /** Ids of somebody else's tasks, contexts and webhooks, as if they had been overheard. */
  readonly foreign: readonly string[];
  readonly foreignContexts: readonly string[];
  readonly foreignConfigs: readonly string[];
  /** Where webhooks are really taken. */
  readonly hookUrl: string;
}

/** What one request is drawn from, and what it turned out to name. */
export interface Draw {
  readonly random: FuzzRandom;
  readonly names: FuzzNames;
  readonly taskId: () => string;
  readonly givenId: () => string;
  readonly contextId: () => string;
  readonly configId: () => string;
  /** A task and a webhook of it; with this probability one that is really there. */
  readonly pair: (probability?: number) => readonly [taskId: string, configId: string];
  /** Any of them. */
  readonly anyId: () => string;
  /** A name that nobody has used. */
  readonly freshId: () => string;
  /**
   * From here on foreign ids are others than elsewhere: the caller may become the owner of something with the same name,
   * and what it is told about that name is then its own.
   */
  readonly namesThings: () => void;
  readonly foreignUsed: ReadonlySet<string>;
  readonly namesOwn: boolean;
}

const KEPT_FOR_NAMES = 2;

const STRANGE_IDS = [
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'nonsense',
  '0',
  '🦭',
  'задача',
  '..',
  '.',
  '../../etc/passwd',
  '%2e%2e%2f',
  'a/b',
  'a:cancel',
  'tasks/x/pushNotificationConfigs/y',
  'a b',
  'x'.repeat(128),
  'x'.repeat(129),
];

export const createDraw = (random: FuzzRandom, names: FuzzNames): Draw => {
  const foreignUsed = new Set<string>();
  let namesOwn = false;
  let isNaming = false;
  const own = (list: readonly string[]): string => {
    namesOwn = true;
    return random.pick(list);
  };
  const foreign = (list: readonly string[]): string => {
    const id = random.pick(isNaming ? list.slice(-KEPT_FOR_NAMES) : list.slice(0, -KEPT_FOR_NAMES));
    foreignUsed.add(id);
    return id;
  };
  const freshId = (): string => {
    const digits = (count: number): string =>
      Array.from({ length: count }, () => random.between(0, 15).toString(16)).join('');
    return `${digits(8)}-${digits(4)}-7${digits(3)}-8${digits(3)}-${digits(12)}`;
  };
  const strange = (): string => (random.chance(0.5) ? random.pick(STRANGE_IDS) : strangeText(random));
  const choose = (mine: readonly string[], theirs: readonly string[]): string =>
    random.weigh<() => string>([
      [60, () => own(mine)],
      [18, () => foreign(theirs)],
      [10, freshId],
      [8, strange],
      [4, () => own(names.given)],
    ])();
  const taskId = (): string => choose(names.own, names.foreign);
  const contextId = (): string => choose(names.ownContexts, names.foreignContexts);
  const configId = (): string => choose(names.ownConfigs, names.foreignConfigs);
  return {
    random,
    names,
    taskId,
    contextId,
    configId,
    pair: (probability = 0.4) => {
      if (!random.chance(probability)) return [taskId(), configId()];
      namesOwn = true;
      return random.pick(names.ownPairs);
    },
    freshId,
    givenId: () =>
      random.weigh<() => string>([
        [70, () => own(names.given)],
        [18, freshId],
        [8, strange],
        [4, () => foreign(names.foreign)],
      ])(),
    namesThings: () => {
      isNaming = true;
    },
    anyId: () => random.pick([taskId, taskId, contextId, configId])(),
    foreignUsed,
    get namesOwn() {
      return namesOwn;
    },
  };
};
