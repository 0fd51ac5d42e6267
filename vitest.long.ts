/** Tests that start so many processes, one after the other, that they are run with the chaos suite and not each time. */
export const LONG = [
  'packages/sealane/src/cli/commands/backup-after-crash.test.ts',
  'packages/sealane/src/cli/commands/service.test.ts',
];
