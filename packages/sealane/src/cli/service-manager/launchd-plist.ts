import { flagsLine, type ServicePlan } from './service-plan.ts';

export const LABEL = 'dev.sealane';

/** The property list of a plan. */
export const renderPlist = ({ program, args, cwd, path, flags }: ServicePlan, logFile: string): string => `\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by "sealane service install"; run it again to change this, since it replaces the file. -->
<!-- ${flagsLine(flags)} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${[program, ...args].map((word) => `    <string>${escapeXml(word)}</string>`).join('\n')}
  </array>
  <key>WorkingDirectory</key>
  <string>${escapeXml(cwd)}</string>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>${escapeXml(path)}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <!-- Started again when it failed, not when it was stopped. -->
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <!-- Runs get time to end before everything is killed. -->
  <key>ExitTimeOut</key>
  <integer>45</integer>
  <key>StandardOutPath</key>
  <string>${escapeXml(logFile)}</string>
  <key>StandardErrorPath</key>
  <string>${escapeXml(logFile)}</string>
</dict>
</plist>
`;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Line ends are written as numbers: a parser would make others of them. */
export const escapeXml = (text: string): string =>
  text.replaceAll(/[&<>"'\r\n\t]/g, (char) => ENTITIES[char] ?? `&#${char.charCodeAt(0)};`);
