import { randomBytes } from 'node:crypto';

import type { HttpAnswer, Outcome } from './answer.ts';
import { createClients } from './clients.ts';
import { createDraw } from './draw.ts';
import { drawAlone } from './fuzz-random.ts';
import type { FuzzRequest } from './fuzz-request.ts';
import type { FuzzWorld } from './fuzz-world.ts';
import { requestOf } from './requests.ts';
import { judge } from './rules.ts';
import { showRequest } from './show-request.ts';
import type { Verdict } from './verdict.ts';

export interface FuzzOptions {
  readonly seed: number;
  /** The numbers of the requests to make: from `first`, so many. */
  readonly first: number;
  readonly count: number;
  /** Only requests of these kinds are made; all without it. */
  readonly labels?: ReadonlySet<string>;
}

export interface FuzzReport {
  /** Whole stories, each with all that is needed to see it again. */
  readonly failures: readonly string[];
  readonly answered: number;
  /** How often each kind of request was answered, by the word for its answer. */
  readonly words: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

const IN_FLIGHT = 64;
/** The first ones tell enough; a thousand of the same kind would hide the others. */
const MAX_FAILURES = 200;
const SHOWN_OF_A_KIND = 2;
const MAX_SHOWN = 12;
const UNKNOWN_IDS = 5;

/** Sends one request after the other on many connections and judges every answer. */
export const runFuzz = async (world: FuzzWorld, { seed, first, count, labels }: FuzzOptions): Promise<FuzzReport> => {
  const failures: string[] = [];
  const kinds = new Map<string, number>();
  let failed = 0;
  const words = new Map<string, Map<string, number>>();
  let answered = 0;
  let next = first;

  const fail = (number: number, request: FuzzRequest, outcome: Outcome, complaints: readonly string[]): void => {
    failed += 1;
    const kind = `${request.binding}: ${complaints.join('; ').replaceAll(/[0-9a-f-]{12,}/g, '*')}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (failures.length >= MAX_SHOWN || kinds.get(kind)! > SHOWN_OF_A_KIND) return;
    failures.push(
      [
        `request ${number} of seed ${seed} (${request.label}): ${complaints.join('; ')}`,
        `  again: SEALANE_FUZZ_SEED=${seed} SEALANE_FUZZ_ONLY=${number} npx vitest run test/fuzz`,
        showRequest(request, outcome, world.service.url),
      ].join('\n'),
    );
  };
  const count1 = (label: string, word: string): void => {
    const of = words.get(label) ?? new Map<string, number>();
    words.set(label, of.set(word, (of.get(word) ?? 0) + 1));
  };

  const work = async (): Promise<void> => {
    using clients = createClients(world);
    const isAnsweredAgain = async (request: FuzzRequest, verdict: Verdict, outcome: Outcome): Promise<boolean> => {
      const again = await clients.ask(request);
      return isSame(verdict, outcome, judge(request, again, world.other.secrets), again);
    };
    while (next < first + count && failed < MAX_FAILURES) {
      const number = next;
      next += 1;
      const request = drawAlone((random) => requestOf(createDraw(random, world.names), world), seed, number);
      if (labels && !labels.has(request.label)) continue;
      const outcome = await clients.ask(request);
      const verdict = judge(request, outcome, world.other.secrets);
      answered += 1;
      count1(request.label, verdict.word);
      if (verdict.complaints.length > 0) fail(number, request, outcome, verdict.complaints);
      else if (outcome.kind === 'http') learn(world, outcome.answer, number);
      if (!request.named.isRepeatable || !namesForeign(request)) continue;

      // Whatever is said about somebody else's task must be said about one that does not exist. Other requests are
      // under way meanwhile, so it is only told apart if it is so from every unknown one.
      const others: string[] = [];
      while (others.length < UNKNOWN_IDS) {
        const unknown = withUnknownIds(request);
        const other = await clients.ask(unknown);
        const otherVerdict = judge(unknown, other, world.other.secrets);
        answered += 1;
        if (otherVerdict.complaints.length > 0) fail(number, unknown, other, otherVerdict.complaints);
        if (isSame(verdict, outcome, otherVerdict, other)) break;
        others.push(otherVerdict.word);
      }
      // A change of one's own, to a task that one has given a strange name, is answered only once as it was.
      if (others.length === UNKNOWN_IDS && (await isAnsweredAgain(request, verdict, outcome))) {
        fail(number, request, outcome, [
          `a foreign id is told from unknown ones, which are answered ${others.join(', ')}`,
        ]);
      }
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  return { failures, answered, words };
};

const isSame = (one: Verdict, outcome: Outcome, other: Verdict, otherOutcome: Outcome): boolean => {
  const status = (of: Outcome): number | undefined => (of.kind === 'http' ? of.answer.status : undefined);
  return one.word === other.word && status(outcome) === status(otherOutcome);
};

/** Whether ids of somebody else are still in it, after all that was done to it. */
const namesForeign = (request: FuzzRequest): boolean => {
  const bytes = request.binding === 'grpc' ? request.frames : request.body;
  return request.named.foreign.some(
    (id) => request.path.includes(id) || (bytes !== undefined && bytes.includes(id, 'latin1')),
  );
};

/** The same request about things that nobody has, with names as like as can be, so that only being there differs. */
const withUnknownIds = (request: FuzzRequest): FuzzRequest => {
  const swaps = request.named.foreign.map((id) => [id, id.slice(0, -12) + randomBytes(6).toString('hex')] as const);
  const swapText = (text: string): string => swaps.reduce((all, [id, fresh]) => all.replaceAll(id, fresh), text);
  const swapBytes = (bytes: Buffer): Buffer => Buffer.from(swapText(bytes.toString('latin1')), 'latin1');
  if (request.binding === 'grpc') return { ...request, frames: swapBytes(request.frames) };
  return { ...request, path: swapText(request.path), body: request.body && swapBytes(request.body) };
};

/** Takes the tasks that came to be into the names to play with: ended ones in one half, others in the other. */
const learn = ({ names }: FuzzWorld, { body }: HttpAnswer, number: number): void => {
  const found = /"id":"([0-9a-f-]{36})","contextId":"([^"\\]{1,128})","status":\{"state":"([A-Za-z_-]+)"/.exec(
    body.toString('latin1'),
  );
  if (!found) return;
  const [, id = '', contextId = '', state = ''] = found;
  const half = names.own.length / 2;
  const isOpen = /submitted|working|required/i.test(state);
  names.own[(number % half) + (isOpen ? half : 0)] = id;
  if (number % 7 === 0) names.ownContexts[number % names.ownContexts.length] = contextId;
};
