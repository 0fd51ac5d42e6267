/**
 * Base64 as every client reads it. Tools break it into lines, leave its padding out, or write it for addresses, and
 * whoever cannot read one part cannot read the task. Undefined: it is none.
 */
export const standardBase64 = (text: string): string | undefined => {
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return text;
  const digits = text.replaceAll(/\s/g, '').replace(/={1,2}$/, '');
  if (!/^[\w+/-]*$/.test(digits) || digits.length % 4 === 1) return undefined;
  return Buffer.from(digits, 'base64').toString('base64');
};
