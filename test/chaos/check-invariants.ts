import type { A2aClient } from './a2a-client.ts';
import { endRules } from './end-rules.ts';
import { type Evidence, readEvidence, type Rule } from './evidence.ts';
import { laneRules } from './lane-rules.ts';
import { logRules } from './log-rules.ts';
import { memoryRules, promiseRules } from './promise-rules.ts';

/**
 * The promises, in the order in which a reader wants to hear of a breach:
 *
 * - what was acknowledged is there, as it was told;
 * - what was seen before has not changed;
 * - each log is numbered without gap and ends once, and no lost run has written into it;
 * - no two runs of a lane at once, and turns start in the order of their admission;
 * - everything has ended as it should, and no lane is held.
 */
const RULES: readonly Rule[] = [promiseRules, memoryRules, logRules, laneRules, endRules];

/** Every violation in words; none is what a test wants to see. */
export const violationsOf = (evidence: Evidence): readonly string[] => RULES.flatMap((rule) => rule(evidence));

/** Reads all tasks, events and lanes through a service, and the audit log, and holds them against each other. */
export const checkInvariants = async (
  client: A2aClient,
  sources: Parameters<typeof readEvidence>[1],
): Promise<{ readonly violations: readonly string[]; readonly evidence: Evidence }> => {
  const evidence = await readEvidence(client, sources);
  return { evidence, violations: violationsOf(evidence) };
};
