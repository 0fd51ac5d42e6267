/** The known word that was probably meant, if one is near enough to be worth a suggestion. */
export const nearestWord = (word: string, known: readonly string[]): string | undefined => {
  const lower = word.toLowerCase();
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(lower, candidate.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const best = ranked[0];
  if (!best) return undefined;
  return best.distance <= Math.max(1, Math.floor(Math.max(word.length, best.candidate.length) / 3))
    ? best.candidate
    : undefined;
};

/** Insertions, deletions, replacements and swaps of neighbours, each for 1: `prot` is one step from `port`. */
export const editDistance = (a: string, b: string): number => {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      let cost = Math.min(at(previous, j) + 1, at(current, j - 1) + 1, at(previous, j - 1) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, at(beforePrevious, j - 2) + 1);
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, b.length);
};

const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY;
