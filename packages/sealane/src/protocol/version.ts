import { SealaneError } from '#domain';

/**
 * The protocol version that a caller asks for, as Major.Minor: patches do not change the wire. Undefined when it asks
 * for none; then the method's name tells the dialect.
 */
export const findVersion = (text: string | undefined): string | undefined => {
  if (text === undefined || text.trim() === '') return undefined;
  const match = /^\s*(\d{1,4})(?:\.(\d{1,4}))?(?:\.\d{1,9})?\s*$/.exec(text);
  if (!match) throw versionNotSupported(text.slice(0, 40), ['1.0']);
  return `${Number(match[1])}.${Number(match[2] ?? 0)}`;
};

export const versionNotSupported = (version: string, known: readonly string[]): SealaneError =>
  new SealaneError(
    'version-not-supported',
    `A2A version "${version}" is not spoken here. Use one of: ${known.join(', ')}.`,
    {
      facts: { version, supported: known.join(', ') },
    },
  );
