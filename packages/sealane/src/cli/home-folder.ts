import { homedir } from 'node:os';

/** A user that the system does not know, as containers have them, is at home where the system is. */
export const homeFolder = (): string => {
  try {
    return homedir();
  } catch {
    return '/';
  }
};
