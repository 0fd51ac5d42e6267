import { movesOf } from './moves.ts';
import type { Move } from './moves.ts';
import { allEnded, brokenByCommit, overlap } from './promises.ts';
import { firstWorld } from './world.ts';
import type { Scenario, World } from './world.ts';

export interface Exploration {
  readonly states: number;
  readonly moves: number;
  /** The shortest way to a broken promise, step by step. */
  readonly counterexample?: string;
}

/**
 * Tries every order of steps, breadth first, so that the first counter-example is a shortest one. Afterwards it looks
 * for turns that are lost: from every state, what happens surely must be able to end all tasks, without anybody's
 * wish, another fault or a zombie's return.
 */
export const explore = (scenario: Scenario, maxStates = 1_000_000): Exploration => {
  const keyOf = createKeys();
  const first = firstWorld(scenario);
  const worlds: World[] = [first];
  const known = new Map([[keyOf(first), 0]]);
  const cameFrom: number[] = [-1];
  const sureMoves: [from: number, to: number][] = [];
  let moves = 0;

  for (let at = 0; at < worlds.length; at += 1) {
    const world = worlds[at]!;
    for (const move of movesOf(scenario, world)) {
      moves += 1;
      const broken =
        move.failure ??
        (move.next.rows === world.rows ? undefined : brokenByCommit(world.rows, move.next.rows)) ??
        overlap(scenario, move.next);
      if (broken !== undefined) {
        const counterexample = tell(broken, [...schedule(scenario, worlds, cameFrom, at, keyOf), move]);
        return { states: worlds.length, moves, counterexample };
      }
      const key = keyOf(move.next);
      let to = known.get(key);
      if (to === undefined) {
        to = worlds.push(move.next) - 1;
        if (to >= maxStates) throw new Error(`More than ${maxStates} states: make the scenario smaller.`);
        known.set(key, to);
        cameFrom.push(at);
      }
      if (move.isSure && to !== at) sureMoves.push([at, to]);
    }
  }

  const lost = firstThatCannotEnd(worlds, sureMoves);
  if (lost === undefined) return { states: worlds.length, moves };
  const broken = 'No turn is lost: from here nothing that surely happens can end all tasks.';
  const counterexample = tell(broken, schedule(scenario, worlds, cameFrom, lost, keyOf), worlds[lost]);
  return { states: worlds.length, moves, counterexample };
};

/**
 * Equal worlds get equal keys. A step changes one part of the world and shares the others, so each part is written out
 * once and known by a number from then on.
 */
const createKeys = (): ((world: World) => string) => {
  const numbers = new Map<string, number>();
  const seen = new WeakMap<object, number>();
  const numberOf = (part: object): number => {
    let number = seen.get(part);
    if (number !== undefined) return number;
    const text = JSON.stringify(part);
    number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    seen.set(part, number);
    return number;
  };
  return ({ rows, sessions, minds, unharmed }) =>
    `${numberOf(rows)} ${sessions.map(numberOf).join(' ')} ${numberOf(minds)} ${numberOf(unharmed)}`;
};

const firstThatCannotEnd = (worlds: readonly World[], sureMoves: readonly [number, number][]): number | undefined => {
  const before: number[][] = worlds.map(() => []);
  for (const [from, to] of sureMoves) before[to]!.push(from);
  const canEnd = worlds.map(({ rows }) => allEnded(rows));
  const open = canEnd.flatMap((can, index) => (can ? [index] : []));
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const from of before[at]!)
      if (!canEnd[from]) {
        canEnd[from] = true;
        open.push(from);
      }
  const lost = canEnd.indexOf(false);
  return lost === -1 ? undefined : lost;
};

/** The moves that led to a state, found again by the keys of the states along the way. */
const schedule = (
  scenario: Scenario,
  worlds: readonly World[],
  cameFrom: readonly number[],
  end: number,
  keyOf: (world: World) => string,
): Move[] => {
  const moves: Move[] = [];
  for (let to = end; cameFrom[to]! >= 0; to = cameFrom[to]!) {
    const key = keyOf(worlds[to]!);
    moves.unshift(movesOf(scenario, worlds[cameFrom[to]!]!).find(({ next }) => keyOf(next) === key)!);
  }
  return moves;
};

/** The broken promise, the steps that led there, and the rows it left. A statement's steps in a row share its text. */
const tell = (broken: string, moves: readonly Move[], end = moves.at(-1)?.next): string => {
  const lines = [broken];
  let last = { who: '', statement: '' };
  for (const [index, move] of moves.entries()) {
    const { who, statement, note } = move.tell();
    if (who !== last.who) lines.push(`  ${who}`);
    const isSame = who === last.who && statement === last.statement;
    lines.push(`${String(index + 1).padStart(5)}  ${isSame ? '' : statement}${note && !isSame ? '\n       ' : ''}${note ? `  ${note}` : ''}`);
    last = { who, statement };
  }
  lines.push('  the rows then');
  for (const [address, row] of Object.entries(end?.rows ?? {})) lines.push(`       ${address} ${JSON.stringify(row)}`);
  return lines.join('\n');
};
