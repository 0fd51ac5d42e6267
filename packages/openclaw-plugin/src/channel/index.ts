/**
 * Stands in for the A2A channel that OpenClaw brings: its peers, with the tokens they have, at the addresses they know.
 * It changes no configuration (`../commands/import.ts` does) and keeps nothing. Start with `takeover.ts`, what of the
 * channel becomes what of the service; then `channel-door.ts`, how its requests are understood.
 */
export type { ChannelConfig, ChannelPeer } from './channel-config.ts';
export { findChannel } from './channel-config.ts';
export type { ChannelDoor } from './channel-door.ts';
export { CHANNEL_CALLS, createChannelDoor, registerCardRoutes } from './channel-door.ts';
export type { ChannelRuntime, Takeover } from './takeover.ts';
export { CHANNEL_SETTINGS, createTakeover, ownerOf } from './takeover.ts';
