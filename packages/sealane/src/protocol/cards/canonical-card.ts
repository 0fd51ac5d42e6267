/**
 * The bytes that a signature of a card covers: the card without its signatures and without whatever is empty, as
 * RFC 8785 writes it. JSON.stringify writes numbers and strings as that RFC wants them; what is left is the order of
 * members, by UTF-16 code units, which is how `sort` compares. The card must have members of the schema only.
 */
export const canonicalCard = ({ signatures: _signatures, ...card }: Readonly<Record<string, unknown>>): string =>
  canonical(withoutEmpty(card) ?? {});

/** Verifiers drop empty texts, lists and objects at every depth, and what becomes empty by that. */
const withoutEmpty = (value: unknown): unknown => {
  if (value === '' || value === null || value === undefined) return undefined;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const kept = value.map(withoutEmpty).filter((item) => item !== undefined);
    return kept.length > 0 ? kept : undefined;
  }
  const kept = Object.entries(value).flatMap(([name, member]) => {
    const cleaned = withoutEmpty(member);
    return cleaned === undefined ? [] : [[name, cleaned] as const];
  });
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
};

const canonical = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
};
