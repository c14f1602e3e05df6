// Checks that the links of the pages to files and headings in the repository are valid. The files and tests named in code quotes
// must exist, and scripts/docs/README.md must link to every page of scripts/docs.
// usage: node scripts/check/external/docs_links.mjs ROOT
import fs from 'node:fs';
import path from 'node:path';
import { prose } from './docs_blocks.mjs';

const root = process.argv[2];
const read = name => fs.readFileSync(path.join(root, name), 'utf8');
const under = (folder, wanted) => !fs.existsSync(path.join(root, folder)) ? [] :
  fs.readdirSync(path.join(root, folder), { recursive: true }).map(n => path.posix.join(folder, n.split(path.sep).join('/'))).filter(n => wanted.test(n));

const pages = ['README.md', ...under('.github', /\.md$/), ...under('scripts/docs', /\.md$/), ...under('infra', /\.md$/).filter(n => !n.includes('node_modules'))];
const tests = new Set(['functions', 'shared', 'infra', 'scripts'].flatMap(f => under(f, /_test\.go$/))
  .flatMap(n => [...read(n).matchAll(/^func (Test\w+)\(/gm)].map(m => m[1])));

// anchors returns the anchors that GitHub generates. Repeated headings get a number.
function anchors(markdown) {
  const seen = new Map();
  return new Set(prose(markdown).flatMap(line => {
    const heading = /^#{1,6} +(.*?) *#*$/.exec(line);
    if (!heading) return [];
    const slug = heading[1].replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/`/g, '').toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '').replace(/ /g, '-');
    const n = seen.get(slug) ?? 0;
    seen.set(slug, n + 1);
    return [n === 0 ? slug : `${slug}-${n}`];
  }));
}

const problems = [];
const linked = new Set();
let links = 0, names = 0;
for (const page of pages) {
  prose(read(page)).forEach((line, n) => {
    const at = `${page}:${n + 1}`;
    for (const [, target] of line.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      links++;
      const [file, anchor] = target.split('#');
      const name = file === '' ? page : path.posix.normalize(path.posix.join(path.posix.dirname(page), file));
      if (page === 'scripts/docs/README.md') linked.add(name);
      if (!fs.existsSync(path.join(root, name))) problems.push(`${at}: there is no ${name}`);
      else if (anchor !== undefined && !anchors(read(name)).has(anchor)) problems.push(`${at}: ${name} has no heading #${anchor}`);
    }
    for (const [, quoted] of line.matchAll(/`([^`]+)`/g)) {
      const file = /^(\.\/)?((?:functions|shared|infra|events|scripts)\/[\w./-]+?)\/?$/.exec(quoted);
      if (file && !fs.existsSync(path.join(root, file[2]))) problems.push(`${at}: there is no ${file[2]}`);
      if (/^Test[A-Z]\w*$/.test(quoted) && !tests.has(quoted)) problems.push(`${at}: there is no test ${quoted}`);
      if (file || /^Test[A-Z]/.test(quoted)) names++;
    }
  });
}
for (const page of under('scripts/docs', /\.md$/)) {
  if (page !== 'scripts/docs/README.md' && !linked.has(page)) problems.push(`scripts/docs/README.md: has no link to ${page}`);
}
for (const p of problems) console.error(p);
console.log(`${pages.length} pages, ${links} links, ${names} files and tests named; ${problems.length} wrong`);
process.exitCode = problems.length ? 1 : 0;
