import { isIPv4 } from 'node:net';

/**
 * Ranges of IPv4 that are not addresses of the public internet: "this" network, private use, shared by carriers,
 * loopback, link-local (where clouds answer with credentials), protocol assignments, documentation, relays,
 * benchmarks, multicast and reserved.
 */
const CLOSED_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

const numberOf = (address: string): number => address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);

const closedIpv4 = CLOSED_IPV4.map((range) => {
  const [base = '', bits = '32'] = range.split('/');
  const first = numberOf(base);
  return { first, last: first + 2 ** (32 - Number(bits)) - 1 };
});

const isClosedIpv4 = (address: number): boolean =>
  closedIpv4.some(({ first, last }) => address >= first && address <= last);

/** The eight groups of an IPv6 address in any of its spellings. */
const groupsOf = (address: string): readonly number[] => {
  const plain = (address.split('%', 1)[0] ?? '').replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (ipv4) => {
    const number = numberOf(ipv4);
    return `${Math.floor(number / 0x1_0000).toString(16)}:${(number % 0x1_0000).toString(16)}`;
  });
  const [head = '', tail] = plain.split('::');
  const parse = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => parseInt(group, 16)));
  const before = parse(head);
  if (tail === undefined) return before;
  const after = parse(tail);
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
};

const isClosedIpv6 = (groups: readonly number[]): boolean => {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const ipv4At = (high: number, low: number): number => high * 0x1_0000 + low;
  // NAT64: a gateway translates to the IPv4 address at the end.
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0) return isClosedIpv4(ipv4At(g, h));
  // Only 2000::/3 is assigned to the public internet.
  if (a < 0x2000 || a > 0x3fff) return true;
  // 6to4 leads to the IPv4 address inside.
  if (a === 0x2002) return isClosedIpv4(ipv4At(b, c));
  // 2001::/23 are protocols, Teredo among them; 2001:db8::/32 and 3fff::/20 are documentation.
  return (a === 0x2001 && (b < 0x200 || b === 0xdb8)) || (a === 0x3fff && b < 0x1000);
};

/** True for an address that is not on the public internet, also for an IPv4 address inside an IPv6 one. */
export const isPrivateAddress = (address: string): boolean => {
  if (isIPv4(address)) return isClosedIpv4(numberOf(address));
  const groups = groupsOf(address);
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  // On a socket for both versions, systems write an IPv4 address in this form.
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff) return isClosedIpv4(g * 0x1_0000 + h);
  return isClosedIpv6(groups);
};
