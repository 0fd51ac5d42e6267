import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';

/**
 * Calls `onChange` when the file was written, replaced, made or removed since the call, as soon as it is the same at two
 * looks: an editor may write in several steps. It looks at the file now and then instead of listening to its folder: that
 * is usually the data folder, where each commit of the database would wake a listener; and a link that is swapped under
 * the file is seen as well.
 */
export const watchConfig = (
  file: string,
  onChange: () => void,
  { intervalMs = 500 }: { readonly intervalMs?: number } = {},
): Disposable => {
  let seen = fingerprintOf(() => statSync(file));
  let isChanging = false;
  let isLooking = false;
  const look = async (): Promise<void> => {
    // A slow network disk must not pile up looks.
    if (isLooking) return;
    isLooking = true;
    const facts = await stat(file).catch(() => undefined);
    isLooking = false;
    const now = fingerprintOf(() => facts);
    const isSame = now === seen;
    seen = now;
    if (isSame && isChanging) onChange();
    isChanging = !isSame;
  };
  const timer = setInterval(() => void look(), intervalMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
};

const fingerprintOf = (
  read: () => { readonly mtimeMs: number; readonly ino: number; readonly size: number } | undefined,
): string => {
  try {
    const facts = read();
    return facts ? `${facts.mtimeMs} ${facts.ino} ${facts.size}` : 'absent';
  } catch {
    return 'absent';
  }
};
