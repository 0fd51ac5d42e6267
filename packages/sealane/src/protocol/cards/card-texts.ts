import { hash } from 'node:crypto';

import { canonicalCard } from './canonical-card.ts';
import type { CardFacts } from './card-facts.ts';
import type { CardKeys } from './card-keys.ts';
import { hybridCardOf, oldCardOf, v03CardOf } from './v03-card.ts';
import { v1CardOf } from './v1-card.ts';

/** `old` is what readers of A2A 0.2 and 0.1 expect. */
export type CardForm = 'hybrid' | '1.0' | '0.3' | 'old';

/** A card, ready to be sent. */
export interface CardText {
  readonly text: string;
  /**
   * Equal for equal cards. Signatures of the same card differ from instance to instance; the tag does not, and changes
   * only with the card or the keys.
   */
  readonly tag: string;
  /** Since when it is signed with these keys, in epoch milliseconds; 0 for a card without signatures. */
  readonly signedSince: number;
}

export interface CardTexts {
  /** `name` tells this card from all others of the same agents; `facts` is called only for one that is not known yet. */
  find(name: readonly string[], form: CardForm, baseUrl: string, facts: () => CardFacts): Promise<CardText>;
  /** The agents have changed. */
  clear(): void;
}

/** Callers choose the Host that stands on a card, so what is remembered has an end: the least used goes first. */
export const CAPACITY = 256;

const ENCODERS = { hybrid: hybridCardOf, '1.0': v1CardOf, '0.3': v03CardOf, old: oldCardOf } satisfies Record<
  CardForm,
  (facts: CardFacts) => object
>;

/** Cards as text, signed once and remembered. Without keys they go out unsigned. */
export const createCardTexts = (keys: CardKeys | undefined): CardTexts => {
  let known = new Map<string, CardText>();
  return {
    find: async (name, form, baseUrl, facts) => {
      // What the caller knows about the agents may be outdated by the time the keys are there.
      const texts = known;
      const ring = form === '1.0' || form === 'hybrid' ? await keys?.ring() : undefined;
      const key = JSON.stringify([form, baseUrl, ring?.id, ...name]);
      const found = texts.get(key);
      if (found) {
        texts.delete(key);
        texts.set(key, found);
        return found;
      }
      const stated = facts();
      const card = ENCODERS[form](stated);
      // Readers that parse a hybrid into the schema of 1.0 are left with that card: it is the one that is signed.
      const signatures = ring?.sign(canonicalCard(v1CardOf(stated)), `${baseUrl}/.well-known/jwks.json`);
      const made: CardText = {
        text: JSON.stringify({ ...card, ...(signatures && { signatures }) }),
        tag: hash('sha256', `${JSON.stringify(card)} ${ring?.id}`, 'base64url').slice(0, 22),
        signedSince: ring?.since ?? 0,
      };
      if (texts.size >= CAPACITY) {
        const [oldest] = texts.keys();
        if (oldest !== undefined) texts.delete(oldest);
      }
      texts.set(key, made);
      return made;
    },
    clear: () => {
      known = new Map();
    },
  };
};
