import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';

/** Where the system itself looks when there is no PATH. */
const FALLBACK_PATH = '/bin:/usr/bin';

export type FoundProgram =
  | { readonly ok: true; readonly path: string }
  /** For the operator: what is wrong, and what to do about it. It names paths, which are no caller's business. */
  | { readonly ok: false; readonly isMissing: boolean; readonly why: string };

/** Looks where the system would look when it starts the program: in PATH, or from the directory it starts in. */
export const findProgram = async (
  program: string,
  cwd: string,
  environment: Readonly<Record<string, string>>,
): Promise<FoundProgram> => {
  if (!(await isDirectory(cwd))) {
    return { ok: false, isMissing: false, why: `The directory ${cwd} does not exist. Make it, or correct \`cwd\`.` };
  }
  const isPath = program.includes('/');
  const path = environment['PATH'] ?? FALLBACK_PATH;
  const places = isPath ? [resolve(cwd, program)] : path.split(delimiter).map((place) => resolve(cwd, place, program));
  let closed: string | undefined;
  for (const place of places) {
    if (!(await isFile(place))) continue;
    if (await isExecutable(place)) return { ok: true, path: place };
    closed ??= place;
  }
  if (closed !== undefined) {
    return {
      ok: false,
      isMissing: false,
      why: `The program ${closed} may not be executed. Allow it with: chmod +x ${closed}`,
    };
  }
  return {
    ok: false,
    isMissing: true,
    why: isPath
      ? `The program ${program} does not exist (${places.join()}). Install it, or correct \`command\`.`
      : `The program ${program} is not in PATH (${path}). Install it, or give its full path in \`command\`.`,
  };
};

const isDirectory = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() === true;

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isFile() === true;

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
