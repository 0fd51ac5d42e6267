/**
 * Agent cards: what a card says (`card-facts.ts`, `extended-facts.ts`), how each version of A2A writes it
 * (`v1-card.ts`, `v03-card.ts`), and its signatures (`canonical-card.ts`, `key-ring.ts`, `card-keys.ts`). Cards know
 * nothing of HTTP: the binding brings the base address, and decides who may read a card. Start with `cards.ts`.
 */
export type { CardKeys, CardKeyView } from './card-keys.ts';
export type { CardForm, CardText } from './card-texts.ts';
export type { CardOptions, CardRequest, Cards, CardsDeps } from './cards.ts';
export { createCards } from './cards.ts';
export { agentsFor } from './extended-facts.ts';
export { hiddenAgent } from './hidden-agent.ts';
