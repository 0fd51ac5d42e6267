import { type Logger, pino } from 'pino';

import type { PluginLogger } from './plugin-api.ts';

interface Line {
  readonly level: number;
  readonly msg?: string;
  readonly [fact: string]: unknown;
}

/** Sealane's log as lines of the Gateway's: the message first, then its facts. */
export const createGatewayLog = (logger: PluginLogger): Logger =>
  pino(
    { level: 'info', base: null, timestamp: false },
    {
      write: (text: string) => {
        const { level, msg = '', ...facts } = JSON.parse(text) as Line;
        const line = `a2a-tasks: ${msg}${Object.keys(facts).length > 0 ? ` ${JSON.stringify(facts)}` : ''}`;
        if (level >= 50) logger.error(line);
        else if (level >= 40) logger.warn(line);
        else logger.info(line);
      },
    },
  );
