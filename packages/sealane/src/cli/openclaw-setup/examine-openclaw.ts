import type { Config } from '#config';

import type { Check } from '../check.ts';

/** Looks at the OpenClaw agents of a configuration, also when no service runs. */
export async function* examineOpenclaw({ agents }: Config): AsyncGenerator<Check> {
  for (const [name, agent] of Object.entries(agents)) {
    if (agent.connector !== 'openclaw') continue;
    if (agent.via === 'gateway') {
      const { checkGateway } = await import('./check-gateway.ts');
      const findings = await checkGateway(agent);
      const seen = findings
        .filter(({ level }) => level === 'ok')
        .map((finding) => `${finding.name}: ${finding.detail}`);
      if (seen.length > 0) yield { name: `openclaw ${name}`, ok: true, detail: seen.join('; ') };
      for (const { name: what, level, detail, next } of findings.filter((finding) => finding.level !== 'ok'))
        yield {
          name: `openclaw ${name}`,
          ok: level === 'advice',
          isWarning: level === 'advice',
          detail: `${what}: ${detail}`,
          next,
        };
    } else if (agent.trustCallers)
      yield {
        name: `openclaw ${name}`,
        ok: true,
        isWarning: true,
        detail: 'trustCallers is on: everybody with a key for it acts with all your rights on this machine',
        next: `use \`via: gateway\`, which keeps to the permission of each key, or remove agents.${name}.trustCallers`,
      };
  }
}
