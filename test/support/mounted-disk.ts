import { execFileSync } from 'node:child_process';

/** A disk of its own, with options such as its size. Only the superuser can have one. */
export const mountDisk = (path: string, options: string): Disposable | undefined => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  return { [Symbol.dispose]: () => execFileSync('umount', ['-l', path]) };
};
