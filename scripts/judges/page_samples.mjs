// Writes the samples of the page to files, parses each in its language, and runs those that need no id except the company's.
// usage: node scripts/judges/page_samples.mjs PAGE FOLDER, with BASE, KEY and COMPANY in the environment
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const [page, folder] = process.argv.slice(2);
const html = readFileSync(page, 'utf8');
const text = piece => piece.replace(/<[^>]*>/g, '').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&#34;/g, '"').replace(/&#39;/g, "'").replace(/&amp;/g, '&');

const operations = [...html.matchAll(/<section id="(\w+)"[^>]* data-method="(\w+)" data-path="([^"]+)"[\s\S]*?<\/section>/g)].map(([section, id, method, path]) => ({
  id, runs: method === 'GET' && /^\/v1\/companies(\/\{companyId\}(\/[\w-]+)*)?$/.test(path),
  samples: Object.fromEntries([...section.matchAll(/data-language="(\w+)"><code>([\s\S]*?)<\/code>/g)].map(m => [m[1], text(m[2])])),
}));
if (operations.length < 40) throw new Error(`only ${operations.length} operations`);

const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const write = (name, content) => { writeFileSync(`${folder}/${name}`, content); return `${folder}/${name}`; };
const running = operations.filter(o => o.runs);

// There is one program for each language, with one function for each sample. It calls the samples that can run, and prints the id
// of the operation and the response on one line each.
const indented = code => code.replace(/^/gm, '  ');
const programs = {
  go: ['go', 'run', write('main.go', `package main

import ("fmt"; "io"; "log"; "net/http"; "os"; "strings")

var _ = strings.NewReader

${operations.map(o => `func ${o.id}() {\n${o.samples.go}\nfmt.Println()\n}`).join('\n')}

func main() {
${running.map(o => `fmt.Println(${JSON.stringify(o.id)})\n${o.id}()`).join('\n')}
}
`)],
  javascript: ['node', write('main.mjs', `${operations.map(o => `async function ${o.id}() {\n${o.samples.javascript.replace(/console\.log\(\w+\.status, (.*)\);$/, 'console.log(JSON.stringify($1));')}\n}`).join('\n')}
${running.map(o => `console.log(${JSON.stringify(o.id)});\nawait ${o.id}();`).join('\n')}
`)],
  python: ['python3', write('main.py', `${operations.map(o => `def ${o.id}():\n${indented(o.samples.python.replace(/print\((.*)\)$/, 'print(json.dumps($1))'))}`).join('\n')}
${running.map(o => `print(${JSON.stringify(o.id)})\n${o.id}()`).join('\n')}
`)],
  curl: ['bash', write('main.sh', `set -euo pipefail
${operations.map(o => `${o.id}() {\n${o.samples.curl} -sS\n}`).join('\n')}
${running.map(o => `echo ${o.id}\n${o.id}\necho`).join('\n')}
`)],
};

const failures = [];
for (const [language, [command, ...args]] of Object.entries(programs)) {
  try {
    const lines = run(command, ...args).trim().split('\n').filter(Boolean);
    for (let i = 0; i < lines.length; i += 2) {
      const response = JSON.parse(lines[i + 1]);
      if (response.id === undefined && !Array.isArray(response.items)) throw new Error(`${lines[i]}: the response is ${lines[i + 1].slice(0, 200)}`);
    }
    if (lines.length !== 2 * running.length) throw new Error(`${lines.length} lines from ${running.length} samples`);
  } catch (problem) {
    failures.push(`${language}: ${problem.stderr || problem.message}`);
  }
}
if (failures.length > 0) {
  console.error(failures.join('\n'));
  process.exit(1);
}
console.log(`${operations.length} operations in ${Object.keys(programs).length} languages are valid; ${running.length} of them were run`);
