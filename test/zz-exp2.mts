import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { mkdtempSync } from 'node:fs';
import { createA2aClient } from './support/a2a-client.ts';
const child = fork('test/zz-svc.ts', [mkdtempSync('/tmp/exp-') + '/t.db'], { execArgv: ['--expose-gc', '--conditions=sealane:source'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
const [{ url }] = await once(child, 'message') as any;
const client = createA2aClient({ url, key: 'the-admin-key' });
const memory = async (m='x') => { child.send(m); return ((await once(child, 'message')) as any)[0]; };
const { hostname, port } = new URL(url);
const stall = async (id: string) => { const s = connect(Number(port), hostname); await once(s, 'connect'); s.pause(); const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }); s.write(`POST /a2a HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer the-admin-key\r\nLast-Event-ID: 0\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`); return s; };
const readAll = async (id: string) => { let n = 0; for await (const e of await client.subscribe(id, 0)) n = e.id!; return n; };
console.log('start', await memory());
const q = await client.submit('10000'); await readAll(q.id);
for (const n of [16]) {
  const before = await memory();
  const t = await client.submit('10000');
  const socks = await Promise.all(Array.from({ length: n }, () => stall(t.id)));
  await readAll(t.id);
  const after = await memory('snap');
  console.log(n, before, after);
  for (const s of socks) s.destroy();
  await new Promise(r => setTimeout(r, 300));
}
child.disconnect();
