/** C0 (but tab and newline), DEL and C1: what a terminal would obey instead of show. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Text of strangers, safe to show on a terminal: an agent must not move the cursor or rename the window. */
export const printable = (text: string): string => text.replaceAll(CONTROL, '');

/** Text to be judged, whole and on one line: what could hide in it, or turn it around, is shown as an escape. */
export const verbatim = (text: string): string =>
  text
    .replaceAll('\n', String.raw`\n`)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);

/** Text of strangers on one line, for tables and lists. */
export const oneLine = (text: string, width = 160): string => {
  const line = printable(text.replaceAll(/\s+/g, ' ')).trim();
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
};
