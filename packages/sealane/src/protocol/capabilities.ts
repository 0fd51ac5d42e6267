/** What is offered here; a deployment can leave parts of A2A out. */
export interface Capabilities {
  readonly streaming: boolean;
  readonly pushNotifications: boolean;
  readonly extendedCard: boolean;
}

export const ALL_CAPABILITIES: Capabilities = { streaming: true, pushNotifications: true, extendedCard: true };
