import { isRecord } from './config-file.ts';
import type { SettingPath } from './parse-yaml.ts';

type Report = (path: SettingPath, message: string) => void;

/**
 * The rules between settings. They look at the values as given, not as validated, so that they are told together with
 * everything else that is wrong; whatever has the wrong kind is left to validation.
 */
export const checkConfig = (values: Readonly<Record<string, unknown>>, report: Report): void => {
  checkAgents(values, report);
  checkKeys(values, report);
  checkBinding(values, report);
  if (values.grpcPort !== undefined && values.grpcPort !== 0 && values.grpcPort === values.port) {
    report(['grpcPort'], 'must differ from port.');
  }
};

const checkAgents = ({ agents }: Readonly<Record<string, unknown>>, report: Report): void => {
  if (!isRecord(agents)) return;
  const entries = Object.entries(agents);
  if (entries.length === 0) report(['agents'], 'must name at least one agent, like `echo: { connector: echo }`.');
  const defaults = entries.filter(([, agent]) => isRecord(agent) && agent.default === true).map(([name]) => name);
  for (const name of defaults.slice(1)) {
    report(['agents', name, 'default'], `must be true for one agent only; ${defaults[0]} is the default already.`);
  }
};

const checkKeys = ({ keys, agents }: Readonly<Record<string, unknown>>, report: Report): void => {
  if (!isRecord(keys)) return;
  const known = isRecord(agents) ? Object.keys(agents) : ['echo'];
  for (const [name, key] of Object.entries(keys)) {
    const wanted: readonly unknown[] = isRecord(key) && Array.isArray(key.agents) ? key.agents : [];
    for (const [index, agent] of wanted.entries()) {
      if (typeof agent === 'string' && !known.includes(agent)) {
        report(
          ['keys', name, 'agents', index],
          `names the agent ${agent}, which is not configured; known: ${known.join(', ')}.`,
        );
      }
    }
  }
};

/** Keys travel in a header: over plain HTTP everybody on the way can read them. */
const checkBinding = ({ host, publicUrl, insecureHttp }: Readonly<Record<string, unknown>>, report: Report): void => {
  if (typeof host !== 'string' || isLoopback(host) || insecureHttp === true) return;
  if (typeof publicUrl === 'string' && /^https:\/\//i.test(publicUrl)) return;
  report(
    ['host'],
    `is ${host}, which other machines can reach: put a proxy that speaks TLS in front and give its address with ` +
      '--public-url https://… (publicUrl), or accept that keys travel readable with --insecure-http (insecureHttp: true).',
  );
};

/** Addresses that only this machine can reach. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
