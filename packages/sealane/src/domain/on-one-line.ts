/**
 * Line breaks in the eyes of readers that cut JSON lines and event streams like any text, as the official Python client
 * and Node's readline do. In JSON they stand within strings only, where an escape means the same.
 */
const OTHER_BREAKS = [
  ['\u0085', '\\u0085'],
  ['\u2028', '\\u2028'],
  ['\u2029', '\\u2029'],
] as const;

/** The same JSON without a character in it that somebody could take for the end of a line. */
export const onOneLine = (json: string): string => {
  let line = json;
  for (const [character, escape] of OTHER_BREAKS) {
    if (line.includes(character)) line = line.replaceAll(character, escape);
  }
  return line;
};
