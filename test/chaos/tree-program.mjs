// A program for the `command` agent. Told `grow`, it makes a child in its own session that is deaf to SIGTERM, and both
// write down that they are alive, again and again. Told anything else, it writes down that it has begun, and ends.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';

const [file, role] = process.argv.slice(2);
const note = (what) =>
  appendFileSync(file, `${what} ${process.pid} ${Number(process.hrtime.bigint() / 1000n) / 1000}\n`);
const beat = (name) => {
  process.on('SIGTERM', () => undefined);
  note(name);
  setInterval(() => note(name), 20);
};

if (role === 'child') beat('child');
else if ((await text(process.stdin)).trim() === 'grow') {
  spawn(process.execPath, [process.argv[1], file, 'child'], { detached: true, stdio: 'ignore' }).unref();
  beat('parent');
} else {
  note('next');
  process.stdout.write('done');
}
