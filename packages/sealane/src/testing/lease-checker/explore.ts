import { memoise } from './memoise.ts';
import { createMoves } from './moves.ts';
import type { Move } from './moves.ts';
import { allEnded, brokenByCommit, brokenByRuns } from './promises.ts';
import type { Scenario } from './scenario.ts';
import type { Rows } from './statement.ts';
import { firstWorld } from './world.ts';
import type { World } from './world.ts';

export interface Exploration {
  readonly states: number;
  readonly moves: number;
  /** The shortest way to a broken promise, step by step. */
  readonly counterexample?: string;
}

interface Arrival {
  readonly from: number;
  readonly move: Move;
}

/**
 * Tries every order of steps, breadth first, so that the first counter-example is a shortest one. Afterwards it looks
 * for turns that are lost: from every state, what happens surely must be able to end all tasks, without anybody's
 * wish, another fault or a zombie's return.
 */
export const explore = (scenario: Scenario, maxStates = 1_000_000): Exploration => {
  const movesOf = createMoves(scenario);
  const { keyOf, original } = createRecogniser(scenario);
  const changes = memoise((before: Rows) => memoise((after: Rows) => ({ broken: brokenByCommit(before, after) })));
  const worlds: World[] = [];
  const known = new Map<string, number>();
  /** The move that first led to each state, and where from. */
  const arrivals: (Arrival | undefined)[] = [];
  /** For each state, the states from which something sure leads to it. */
  const surelyBefore: number[][] = [];
  let moves = 0;

  const arrive = (world: World, key: string, arrival?: Arrival): number => {
    if (worlds.length >= maxStates) throw new Error(`More than ${maxStates} states: make the scenario smaller.`);
    known.set(key, worlds.length);
    arrivals.push(arrival);
    surelyBefore.push([]);
    return worlds.push(original(world)) - 1;
  };
  const wayTo = (state: number): Move[] => {
    const way: Move[] = [];
    for (let arrival = arrivals[state]; arrival; arrival = arrivals[arrival.from]) way.unshift(arrival.move);
    return way;
  };

  const first = firstWorld(scenario);
  arrive(first, keyOf(first));
  for (let at = 0; at < worlds.length; at += 1) {
    const world = worlds[at]!;
    for (const move of movesOf(world)) {
      moves += 1;
      const { next } = move;
      const key = keyOf(next);
      const seenAs = known.get(key);
      const broken =
        move.failure ??
        (next.rows === world.rows ? undefined : changes(world.rows)(next.rows).broken) ??
        (seenAs === undefined ? brokenByRuns(scenario, next) : undefined);
      if (broken !== undefined)
        return { states: worlds.length, moves, counterexample: tell(scenario, broken, [...wayTo(at), move], next) };
      const to = seenAs ?? arrive(next, key, { from: at, move });
      if (move.isSure && to !== at) surelyBefore[to]!.push(at);
    }
  }

  const lost = firstThatCannotEnd(worlds, surelyBefore);
  if (lost === -1) return { states: worlds.length, moves };
  const broken = 'No turn is lost: from here nothing that surely happens can end all tasks.';
  return { states: worlds.length, moves, counterexample: tell(scenario, broken, wayTo(lost), worlds[lost]!) };
};

/**
 * Gives equal worlds equal keys, and makes their equal parts the same objects. A step changes one part of the world and
 * shares the others, so each part is written out once and known by its number from then on. Two sessions of the same
 * instance in the same role are interchangeable.
 */
const createRecogniser = ({ sessions: plans }: Scenario) => {
  const byText = new Map<string, number>();
  const parts: object[] = [];
  const seen = new WeakMap<object, number>();
  const numberOf = (part: object): number => {
    const known = seen.get(part);
    if (known !== undefined) return known;
    const text = JSON.stringify(part);
    const number = byText.get(text) ?? parts.push(part) - 1;
    byText.set(text, number);
    seen.set(part, number);
    return number;
  };
  const twins = plans.flatMap(({ instance, role }, left) =>
    plans.flatMap((plan, right) =>
      left < right && plan.instance === instance && plan.role === role ? [{ left, right }] : [],
    ),
  );
  const same = <T extends object>(part: T): T => parts[numberOf(part)] as T;
  return {
    keyOf: ({ rows, sessions, minds, unharmed }: World): string => {
      const numbers = sessions.map(numberOf);
      for (const { left, right } of twins)
        if (numbers[left]! > numbers[right]!) [numbers[left], numbers[right]] = [numbers[right]!, numbers[left]!];
      return `${numberOf(rows)} ${numberOf(minds)} ${numberOf(unharmed)} ${numbers.join(' ')}`;
    },
    original: ({ rows, sessions, minds, unharmed }: World): World => ({
      rows: same(rows),
      sessions: sessions.map(same),
      minds: same(minds),
      unharmed: same(unharmed),
    }),
  };
};

/** Walks back from the states where all has ended; the first one that this never reaches, or -1. */
const firstThatCannotEnd = (worlds: readonly World[], surelyBefore: readonly (readonly number[])[]): number => {
  const canEnd = worlds.map(({ rows }) => allEnded(rows));
  const open = canEnd.flatMap((can, index) => (can ? [index] : []));
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const from of surelyBefore[at]!)
      if (!canEnd[from]) {
        canEnd[from] = true;
        open.push(from);
      }
  return canEnd.indexOf(false);
};

/** The broken promise, the steps that led there, and the rows it left. Steps of one statement in a row share its text. */
const tell = (scenario: Scenario, broken: string, moves: readonly Move[], end: World): string => {
  const lines = [broken];
  let last = { who: '', statement: '' };
  for (const [index, { told }] of moves.entries()) {
    const { who, statement, note } = told;
    const number = String(index + 1).padStart(5);
    if (who !== last.who) lines.push(`  ${who}`);
    if (note === undefined) lines.push(`${number}  ${statement}`);
    else {
      if (who !== last.who || statement !== last.statement) lines.push(`       ${statement}`);
      lines.push(`${number}    ${note}`);
    }
    last = { who, statement };
  }
  for (const [index, { open }] of end.sessions.entries()) {
    const { instance, role } = scenario.sessions[index]!;
    if (open)
      lines.push(`  ${instance}'s ${role} is still in its ${open.call.name} and holds ${open.tx.locks.join(', ')}`);
  }
  lines.push('  the rows then');
  for (const [address, row] of Object.entries(end.rows)) lines.push(`       ${address} ${JSON.stringify(row)}`);
  return lines.join('\n');
};
