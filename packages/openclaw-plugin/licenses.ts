import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MARK = '/node_modules/';
const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i;

/** The licenses of the packages that these modules are from, one after the other. */
export const licensesOf = (modules: readonly string[]): string => {
  const folders = new Set(modules.filter((id) => id.includes(MARK)).map(packageFolder));
  const texts = [...folders].map((folder) => licenseText(folder)).toSorted();
  const rule = `\n\n${'-'.repeat(80)}\n\n`;
  return [`This plugin contains the following packages.`, ...texts].join(rule).concat('\n');
};

const packageFolder = (id: string): string => {
  const start = id.lastIndexOf(MARK) + MARK.length;
  const [first = '', second = ''] = id.slice(start).split('/');
  return join(id.slice(0, start), first, first.startsWith('@') ? second : '');
};

const licenseText = (folder: string): string => {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const files = readdirSync(folder).filter((file) => LICENSE_FILE.test(file));
  const texts = files.map((file) => join(folder, file)).filter((file) => existsSync(file));
  return [
    `${name} ${version} (${license ?? 'see below'})`,
    ...texts.map((file) => readFileSync(file, 'utf8').trim()),
  ].join('\n\n');
};
