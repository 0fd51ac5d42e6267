import { randomBytes } from 'node:crypto';

/** Ids that are unique across restarts and instances, and cheap: they name a request in logs and error answers. */
export const createRequestIds = (prefix: string = randomBytes(5).toString('hex')): (() => string) => {
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
};
