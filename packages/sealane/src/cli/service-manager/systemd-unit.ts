import { usageError } from '../cli-error.ts';
import { flagsLine, type ServicePlan } from './service-plan.ts';

/** The unit of a plan. Its comments are for whoever finds the file. */
export const renderUnit = ({ program, args, cwd, path, flags }: ServicePlan): string => `\
# Written by "sealane service install"; run it again to change this, since it replaces the file.
# ${flagsLine(flags)}
[Unit]
Description=Sealane, the durable task service behind AI agents
After=network.target

[Service]
Type=exec
ExecStart=${[quote(program), ...args.map(quoteWord)].join(' ')}
WorkingDirectory=${plainPath(cwd)}
Environment=${quote(`PATH=${path}`)}
Restart=on-failure
RestartSec=2
# Wrong usage or configuration: it would fail the same way again.
RestartPreventExitStatus=2
# The service itself tells its agents to stop, and gives their runs time to end; the rest is killed after that.
KillMode=mixed
TimeoutStopSec=45
# An agent that takes too much memory dies alone: the service goes on and tells its caller.
OOMPolicy=continue
# No memory image, which would hold keys and messages, is written when something crashes.
LimitCORE=0
# There is no sandbox here on purpose. Agents are programs that may need sudo, other folders, devices or the network:
# NoNewPrivileges= takes sudo from them, ProtectHome=, ProtectSystem= and PrivateTmp= take files, and in a user unit
# every filter of system calls implies NoNewPrivileges=. If your agents need none of it, harden them in a drop-in:
# systemctl --user edit sealane

[Install]
WantedBy=default.target
`;

/** Variables are put into every word but the first, the program, which is why only here a `$` is doubled. */
export const quoteWord = (word: string): string => quote(word).replaceAll('$', () => '$$');

/** In quotes where it must be, with what systemd's escapes and specifiers would change. */
export const quote = (word: string): string => (/^[\w@+=:,./-]+$/.test(word) ? word : `"${escape(word)}"`);

const escape = (word: string): string =>
  word
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('%', '%%')
    // oxlint-disable-next-line no-control-regex -- what would end the line, or garble it
    .replaceAll(/[\u0000-\u001f\u007f]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** This setting knows no quotes and no escapes but the specifiers, so some paths cannot be written at all. */
const plainPath = (path: string): string => {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]|\\$|^\s|\s$/.test(path))
    throw usageError(`systemd cannot start anything in the folder ${JSON.stringify(path)}.`, 'use another home folder');
  return path.replaceAll('%', '%%');
};
