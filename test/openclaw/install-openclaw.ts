import { installOpenclaw } from './installed-openclaw.ts';

/** Before the first test, so that no test's time is spent on it. */
export default async (): Promise<void> => {
  await installOpenclaw();
};
