import { openTestApp } from './http-app.fixture.ts';
const t = await openTestApp();
console.log(t.url);
t.logged.length; 
process.on('message', async (m) => {
  if (m === 'cpu') { const u = process.cpuUsage(); process.send!({ cpu: u.user + u.system, n: t.service.sent.length }); }
  if (m === 'stop') { await t[Symbol.asyncDispose](); process.disconnect(); }
});
process.send!({ url: t.url });
