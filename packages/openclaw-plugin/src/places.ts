import { join } from 'node:path';

/** Where the service is below the origin of the Gateway. */
export const ROUTE_PREFIX = '/a2a';
export const DATABASE_NAME = 'a2a-tasks.db';
export const KEY_NAME = 'a2a-tasks.key';

/** The folder outlives the plugin's code, which OpenClaw copies to a new place at every start. */
export const dataFolder = (stateDir: string): string => join(stateDir, 'data');
