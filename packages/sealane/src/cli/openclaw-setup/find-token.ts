import { parseEnv } from 'node:util';

import type { Settings } from './openclaw-settings.ts';

/** How to get at the Gateway's token. Whoever shows this to people shows no `value`. */
export type FoundToken =
  /** It stands in the configuration of OpenClaw, or in a file that only OpenClaw reads: it has to be copied. */
  | { readonly kind: 'value'; readonly value: string; readonly from: string }
  /** OpenClaw takes it from a variable, and so can we. The value is what the variable has here. */
  | { readonly kind: 'variable'; readonly name: string; readonly value: string | undefined }
  | { readonly kind: 'missing'; readonly why: string };

interface TokenPlaces {
  readonly isRemote: boolean;
  readonly env: NodeJS.ProcessEnv;
  /** The text of the `.env` beside OpenClaw's configuration. */
  readonly dotEnv: string;
}

const USUAL_VARIABLE = 'OPENCLAW_GATEWAY_TOKEN';

/** The configuration wins over the variable, as in OpenClaw itself. */
export const findToken = (config: Settings, places: TokenPlaces): FoundToken => {
  const { env, isRemote } = places;
  const gateway = config.at('gateway');
  const setting = isRemote ? 'gateway.remote.token' : 'gateway.auth.token';
  const { value } = gateway.at(isRemote ? 'remote' : 'auth').at('token');

  const name = variableOf(value);
  if (name !== undefined) return findVariable(name, config, places);
  if (typeof value === 'string' && value.trim() !== '') return findText(value.trim(), setting, config, places);
  if (typeof value === 'object' && value !== null)
    return missing(`${setting} is a reference to a secret store, which only OpenClaw can read.`);
  if (env[USUAL_VARIABLE]) return { kind: 'variable', name: USUAL_VARIABLE, value: env[USUAL_VARIABLE] };
  const inherited = findVariable(USUAL_VARIABLE, config, places);
  if (inherited.kind === 'value') return inherited;
  const mode = gateway.at('auth').at('mode').value;
  return typeof mode === 'string' && mode !== 'token'
    ? missing(`gateway.auth.mode of OpenClaw is "${mode}"; Sealane signs in with a token (gateway.auth.mode "token").`)
    : missing(`OpenClaw has no ${setting}.`);
};

const missing = (why: string): FoundToken => ({ kind: 'missing', why });

/** `${NAME}`, or the same as a reference to a secret in the environment. */
const variableOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return /^\$\{([A-Z_][A-Z0-9_]*)\}$/.exec(value)?.[1];
  if (typeof value !== 'object' || value === null) return undefined;
  const { source, id } = value as { readonly source?: unknown; readonly id?: unknown };
  return source === 'env' && typeof id === 'string' && /^[A-Z_][A-Z0-9_]*$/.test(id) ? id : undefined;
};

/** OpenClaw knows variables that a shell does not: from its `.env`, and from `env` of its configuration. */
const valueOfVariable = (
  name: string,
  config: Settings,
  { env, dotEnv }: TokenPlaces,
): { readonly value: string; readonly from?: string } | undefined => {
  if (env[name]) return { value: env[name] };
  const written = parseEnv(dotEnv)[name];
  if (written) return { value: written, from: `${name} in the .env of OpenClaw` };
  const inline = config.at('env').at('vars').at(name).value;
  return typeof inline === 'string' && inline !== '' ? { value: inline, from: `env.vars.${name}` } : undefined;
};

const findVariable = (name: string, config: Settings, places: TokenPlaces): FoundToken => {
  const found = valueOfVariable(name, config, places);
  return found?.from === undefined
    ? { kind: 'variable', name, value: found?.value }
    : { kind: 'value', value: found.value, from: found.from };
};

/** A text may have variables in it, too; `$${` stands for `${`. */
const findText = (text: string, from: string, config: Settings, places: TokenPlaces): FoundToken => {
  const unknown: string[] = [];
  const value = text.replaceAll(
    /\$(\$\{)|\$\{([A-Z_][A-Z0-9_]*)\}/g,
    (_whole, escaped: string | undefined, name: string) => {
      if (escaped !== undefined) return escaped;
      const found = valueOfVariable(name, config, places);
      if (!found) unknown.push(name);
      return found?.value ?? '';
    },
  );
  return unknown.length === 0
    ? { kind: 'value', value, from }
    : missing(`${from} of OpenClaw needs the variable ${unknown.join(', ')}, which is not set here.`);
};
