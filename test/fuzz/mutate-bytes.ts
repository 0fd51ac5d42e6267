import type { FuzzRandom } from './fuzz-random.ts';

type TextMutation = (random: FuzzRandom, text: string) => string | Buffer;

const at = (random: FuzzRandom, text: string): number => random.between(0, text.length);
const insert = (text: string, index: number, what: string): string => text.slice(0, index) + what + text.slice(index);

const splice = (text: string, index: number, bytes: readonly number[]): Buffer =>
  Buffer.concat([Buffer.from(text.slice(0, index)), Buffer.from(bytes), Buffer.from(text.slice(index))]);

const TEXT_MUTATIONS: readonly TextMutation[] = [
  (random, text) => text.slice(0, at(random, text)),
  (random, text) => text.slice(at(random, text)),
  (_random, text) => text.replace(/[}\]]/, ',$&'),
  (_random, text) => text.replace(/,/, ',,'),
  (_random, text) => text.replaceAll('"', "'"),
  (_random, text) => `\ufeff${text}`,
  (_random, text) => `\ufeff\ufeff${text}`,
  (random, text) => insert(text, at(random, text), '\ufeff'),
  (random, text) => splice(text, at(random, text), [0xff, 0xfe]),
  (random, text) => splice(text, at(random, text), [0xc0, 0x80]),
  (random, text) => splice(text, at(random, text), [0xed, 0xa0, 0x80]),
  (random, text) => splice(text, at(random, text), [0xf0, 0x9f]),
  (random, text) => insert(text, at(random, text), '\0'),
  (random, text) => insert(text, at(random, text), random.pick(['\\', '"', '{', '}', '[', ']', ':', ',', '\n', '\\u'])),
  (random, text) => insert(text, at(random, text), random.pick(['NaN', 'Infinity', 'undefined', '/**/', '//', '0x1'])),
  (_random, text) => text + text,
  (_random, text) => `${text}\n`,
  (_random, text) => ` \t\r\n${text}`,
  (_random, text) => `${text}x`,
  (_random, text) => `[${text}]`,
  (_random, text) => `[${text},${text}]`,
  (_random, text) => JSON.stringify(text),
  (_random, text) => Buffer.from(text, 'utf16le'),
  (_random, text) => `)]}',\n${text}`,
  () => '',
  () => '[]',
  () => '{}',
  () => 'null',
  () => '"',
  () => '[['.repeat(50_000),
];

/** Text that is JSON no more, or only just. */
export const breakText = (random: FuzzRandom, text: string): Buffer => {
  const broken = random.pick(TEXT_MUTATIONS)(random, text);
  return typeof broken === 'string' ? Buffer.from(broken) : broken;
};

/** Bytes turned, lost and added. */
export const breakBytes = (random: FuzzRandom, bytes: Buffer): Buffer => {
  let broken = Buffer.from(bytes);
  for (let left = random.between(1, 4); left > 0; left -= 1) {
    const index = random.between(0, broken.length);
    switch (random.between(0, 4)) {
      case 0:
        if (index < broken.length) broken[index] = random.between(0, 255);
        break;
      case 1:
        broken = broken.subarray(0, index);
        break;
      case 2:
        broken = Buffer.concat([broken.subarray(0, index), broken.subarray(index + random.between(1, 8))]);
        break;
      case 3:
        broken = Buffer.concat([
          broken.subarray(0, index),
          Buffer.from([random.between(0, 255), random.pick([0, 0x7f, 0x80, 0xff])]),
          broken.subarray(index),
        ]);
        break;
      default:
        broken = Buffer.concat([broken, broken.subarray(index)]);
    }
  }
  return broken;
};
