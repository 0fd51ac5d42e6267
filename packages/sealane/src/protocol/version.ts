import { SealaneError } from '#domain';

/**
 * The protocol version that a caller asks for, as Major.Minor: patches do not change the wire. Undefined when it asks
 * for none; then the method's name tells the dialect. What is no version comes back as it is, to be refused by name.
 */
export const findVersion = (text: string | undefined): string | undefined => {
  // What nearly everybody says needs no look.
  if (text === undefined || text === '1.0') return text;
  const asked = text.trim();
  if (asked === '') return undefined;
  const match = /^(\d{1,4})(?:\.(\d{1,4}))?(?:\.\d{1,9})?$/.exec(asked);
  return match ? `${Number(match[1])}.${Number(match[2] ?? 0)}` : asked.slice(0, 40).toWellFormed();
};

export const versionNotSupported = (version: string, known: readonly string[]): SealaneError =>
  new SealaneError(
    'version-not-supported',
    `A2A version "${version}" is not spoken here. Use one of: ${known.join(', ')}.`,
    {
      facts: { version, supported: known.join(', ') },
    },
  );
