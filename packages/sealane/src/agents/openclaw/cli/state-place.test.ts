import { describe, expect, it } from 'vitest';

import { cliOptions, type CliInput } from './cli-options.ts';
import { statePlaceOf } from './state-place.ts';

const OWN = { HOME: '/home/ada', PATH: '/bin' };
const placeOf = (input: CliInput, own: NodeJS.ProcessEnv = OWN) =>
  statePlaceOf(cliOptions.parse(input), 'a2a-x-1', own);

describe('the state directory of a run', () => {
  it('is where OpenClaw itself looks', () => {
    expect(placeOf({}).stateDir).toBe('/home/ada/.openclaw');
    expect(placeOf({}).env).not.toHaveProperty('OPENCLAW_STATE_DIR');
    expect(placeOf({}, { ...OWN, OPENCLAW_STATE_DIR: '/var/claw' }).stateDir).toBe('/var/claw');
    expect(placeOf({}, { ...OWN, OPENCLAW_STATE_DIR: ' ', OPENCLAW_HOME: '' }).stateDir).toBe('/home/ada/.openclaw');
    // It is the flag --profile that moves it, by OPENCLAW_STATE_DIR.
    expect(placeOf({ env: { OPENCLAW_PROFILE: 'work' } }).stateDir).toBe('/home/ada/.openclaw');
  });

  it('is the one of the settings before all others', () => {
    const place = placeOf({ stateDir: '~/claw', env: { OPENCLAW_STATE_DIR: '/elsewhere' } });
    expect(place).toMatchObject({ stateDir: '/home/ada/claw', env: { OPENCLAW_STATE_DIR: '/home/ada/claw' } });
  });

  it('can be one for each lane, with the one configuration', () => {
    const place = placeOf({ stateDir: '/var/claw', stateDirPerLane: true });
    expect(place.stateDir).toBe('/var/claw/sealane-lanes/a2a-x-1');
    expect(place.env).toMatchObject({
      OPENCLAW_STATE_DIR: '/var/claw/sealane-lanes/a2a-x-1',
      OPENCLAW_CONFIG_PATH: '/var/claw/openclaw.json',
    });
    const named = placeOf({ stateDirPerLane: true, env: { OPENCLAW_CONFIG_PATH: '/etc/claw.json' } });
    expect(named.env).toMatchObject({ OPENCLAW_CONFIG_PATH: '/etc/claw.json' });
  });

  it('never lets the program work in a process that we do not know', () => {
    expect(placeOf({ env: { OPENCLAW_NO_RESPAWN: '0' } }).env).toMatchObject({ OPENCLAW_NO_RESPAWN: '1' });
  });
});
