import { expect, it } from 'vitest';

import { maskPassword } from './secret-settings.ts';

it.each([
  ['postgres://me:secret@host/db', 'postgres://me:(hidden)@host/db'],
  ['postgres://me:sec@ret#x/y?z@host:5432/db?sslmode=require', 'postgres://me:(hidden)@host:5432/db?sslmode=require'],
  [
    'postgres://host/db?user=me&password=secret&sslmode=require',
    'postgres://host/db?user=me&password=(hidden)&sslmode=require',
  ],
  ['postgres://host/db?sslpassword=secret', 'postgres://host/db?sslpassword=(hidden)'],
  ['postgres://me@host/db', 'postgres://me@host/db'],
  ['http://127.0.0.1:7420', 'http://127.0.0.1:7420'],
  ['an ordinary text: with a colon', 'an ordinary text: with a colon'],
])('%s is shown as %s', (given, shown) => expect(maskPassword(given)).toBe(shown));
