// Runs the code blocks of pages. scripts/check/external/docs starts it; its --help describes the blocks.
// usage: node scripts/check/external/docs_pages.mjs ROOT TMP PAGE...
//
// If the environment variable PAGES_PATH is set, as it is by scripts/check/external/release, the
// pages run with an empty cache and only the programs in the folders that it lists. Blocks that need
// Go are left out.
import { execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { blocks } from './docs_blocks.mjs';

const secondsMax = 180; // for all pages
const graceMs = 20_000; // for a service to finish its requests, which takes at most 15 s
const pagesAtOnce = 3; // a page often waits, for example until its service has started
const [root, tmp, ...pages] = process.argv.slice(2);
const mark = `@@${crypto.randomBytes(12).toString('hex')}`; // a string that no page prints

// In the README, words stand for values from the output of serve. Other pages use a variable.
const filled = [
  [/<the company>/g, '"$COMPANY"'],
  [/<the key>/g, '"$KEY"'],
];

const placeholder = /…|(?<!\/)\.\.\.|<(the|your|a) [^>]*>|\b(co|brd|itm|fbk|pst|key|clm)_(\.|…)/;

const onlyPath = process.env.PAGES_PATH;
const goEnv = onlyPath ? {} : JSON.parse(execFileSync('go', ['env', '-json', 'GOMODCACHE', 'GOCACHE', 'GOENV', 'GOPROXY', 'GOSUMDB', 'GOTOOLCHAIN'], { cwd: root }));

function environment(home) {
  const env = { ...process.env, ...goEnv };
  for (const name of Object.keys(env)) if (/^(AWS_|WORKSPACE_|PAGES_)/.test(name) || name === 'GOBIN') delete env[name];
  if (onlyPath) env.PATH = onlyPath;
  const made = name => { const folder = path.join(home, name); fs.mkdirSync(folder, { recursive: true }); return folder; };
  return Object.assign(env, {
    XDG_CACHE_HOME: onlyPath ? made('cache') : process.env.XDG_CACHE_HOME || path.join(process.env.HOME, '.cache'), // share downloaded tools between runs
    HOME: made('home'), XDG_DATA_HOME: made('data'), XDG_CONFIG_HOME: made('config'), XDG_STATE_HOME: made('state'), TMPDIR: made('tmp'),
    GOPATH: made('go'),
  });
}

const ports = new Set(); // the ports of all pages so far

// freePort returns a port that is free and that no other page uses.
async function freePort() {
  for (;;) {
    const port = await new Promise((resolve, reject) => {
      const server = net.createServer().on('error', reject);
      server.listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)); });
    });
    if (!ports.has(port)) {
      ports.add(port);
      return port;
    }
  }
}

// serving returns a script that starts a block in its own process group and waits until the service responds and has printed its
// last line.
const serving = (text, port, pidFile) => `
set -m
{
${text}
} >"$TMPDIR/.service" 2>&1 &
set +m
printf %s "$!" >'${pidFile}'
until grep -q 'Ctrl-C ends' "$TMPDIR/.service" && curl -sf -o /dev/null 'http://127.0.0.1:${port}/openapi.json'; do
  kill -0 "$(cat '${pidFile}')" 2>/dev/null || { cat "$TMPDIR/.service"; echo 'the service has stopped'; exit 1; }
  sleep 0.1
done
cat "$TMPDIR/.service"`;

const demo = port => `
COMPANY=$(jq -r .companyId "$XDG_DATA_HOME/growth-workspace/demo-key.json")
KEY=$(jq -r .key "$XDG_DATA_HOME/growth-workspace/demo-key.json")
export COMPANY KEY WORKSPACE_URL=http://127.0.0.1:${port}`;

// script returns the shell script of a page and the blocks that it runs, each with its expected outputs.
function script(page, env, port, pidFile) {
  const isReadme = page === 'README.md';
  const parts = ['set -euo pipefail\nexec 2>&1'], runs = []; // one pipe keeps the order of standard output and error
  const here = text => text.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`);
  let served = false, left = 0, leftOut = false; // leftOut: whether the last block was left out
  for (const b of blocks(page, fs.readFileSync(path.join(root, page), 'utf8'))) {
    if (b.kind.endsWith(' output')) {
      if (leftOut) continue;
      if (runs.length === 0) throw new Error(`${page}:${b.line}: there is no command before this output`);
      runs.at(-1).outputs.push({ line: b.line, text: here(b.text) });
      continue;
    }
    if (!/^sh( service)?$/.test(b.kind)) continue;
    leftOut = Boolean(onlyPath) && /^go (-C|run) /m.test(b.text);
    if (leftOut) { left++; continue; }
    if (onlyPath) b.text = b.text.split('\n').filter(line => !/\bgo (install|env)\b/.test(line)).join('\n');
    let text = b.text, service = b.kind === 'sh service';
    if (isReadme) {
      for (const [pattern, value] of filled) text = text.replace(pattern, value);
      service = service || /^go run \.\/scripts\/workspace serve$/.test(text);
    }
    const open = placeholder.exec(text);
    if (open) throw new Error(`${page}:${b.line}: "${open[0]}" is a placeholder: use a variable that the page sets`);
    if (service) text = text.replace(/(workspace serve)\b/, `$1 --addr 127.0.0.1:${port}`);
    text = here(text);
    parts.push(`printf '\\n%s %s\\n' '${mark}' ${runs.length}`, service ? serving(text, port, pidFile) : text);
    if (service && isReadme) parts.push(demo(port));
    served = served || service;
    runs.push({ ...b, outputs: [] });
  }
  const installs = runs.some(r => /go install \.\/scripts\/workspace/.test(r.text));
  if (!installs && !onlyPath) env.PATH = path.join(tmp, 'go', 'bin') + path.delimiter + env.PATH;
  if (!served && page.startsWith('scripts/docs/')) parts.splice(1, 0, 'cd "$TMPDIR"', serving(`workspace serve --addr 127.0.0.1:${port}`, port, pidFile));
  return { text: parts.join('\n') + '\n', runs, left };
}

const escaped = text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

// prints reports whether the actual output contains the expected output, in which … matches
// anything.
function prints(actual, expected) {
  const parts = expected.trim().split('…').map(part => part.split(/\s+/).map(escaped).join('\\s*'));
  return new RegExp(parts.join('[\\s\\S]*?')).test(actual);
}

const running = new Map(); // the process group of each page that runs, and the file with that of its service
const groups = (group, pidFile) => fs.existsSync(pidFile) ? [group, Number(fs.readFileSync(pidFile, 'utf8'))] : [group];
function kill(pid, signal) {
  try { process.kill(-pid, signal); return true; } catch { return false; }
}
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
async function end(pid) {
  for (let waited = 0; kill(pid, waited === 0 ? 'SIGTERM' : 0); waited += 50) {
    if (waited >= graceMs) kill(pid, 'SIGKILL');
    await pause(50);
  }
}

let expired = false;
const deadline = setTimeout(() => { expired = true; for (const group of running.keys()) kill(group, 'SIGKILL'); }, secondsMax * 1000);
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, async () => { await Promise.all([...running].flatMap(page => groups(...page)).map(end)); process.exit(1); });
}

async function run(page, n) {
  const home = path.join(tmp, `page-${n}`);
  const env = environment(home), port = await freePort();
  const pidFile = path.join(home, 'service.pid');
  const { text, runs, left } = script(page, env, port, pidFile);
  const done = { page, blocks: runs.length, left, outputs: 0, problems: [] };
  if (done.blocks === 0) return done;
  const file = path.join(home, 'page.sh');
  fs.writeFileSync(file, text);
  const child = spawn('bash', [file], { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.set(child.pid, pidFile);
  let output = '';
  child.stdout.on('data', d => { output += d; });
  child.stderr.on('data', d => { output += d; });
  const code = await new Promise(resolve => child.on('exit', (code, signal) => resolve(code ?? signal)));
  await pause(50); // for the rest of the output in the pipes
  await Promise.all(groups(child.pid, pidFile).map(end));
  running.delete(child.pid);

  const outputs = new Map();
  const pieces = output.split(new RegExp(`\\n${mark} (\\d+)\\n`));
  for (let i = 1; i < pieces.length; i += 2) outputs.set(Number(pieces[i]), pieces[i + 1]);
  if (code !== 0) {
    const last = outputs.size ? Math.max(...outputs.keys()) : -1;
    const b = runs[last];
    const why = expired ? `took longer than ${secondsMax} s` : `ended with ${code}`;
    done.problems.push(b ? `${page}:${b.line}: ${why}:\n${b.text}\n--- the output is:\n${outputs.get(last).trim()}` : `${page}: ${why}:\n${output.trim()}`);
  }
  for (const [n, actual] of outputs) {
    for (const o of runs[n].outputs) {
      done.outputs++;
      if (code === 0 && !prints(actual, o.text)) done.problems.push(`${page}:${o.line}: the page expects:\n${o.text}\n--- the output is:\n${actual.trim()}`);
    }
  }
  return done;
}

let failed = false;
const queue = [...pages.entries()];
async function worker() {
  for (let next = queue.shift(); next && !expired; next = queue.shift()) {
    const [n, page] = next;
    const begin = Date.now();
    let done;
    try {
      done = await run(page, n);
    } catch (e) {
      done = { page, blocks: 0, outputs: 0, problems: [e.message] };
    }
    for (const p of done.problems) console.error(p);
    failed = failed || done.problems.length > 0;
    const result = done.problems.length ? 'FAILED' : done.blocks ? 'ok' : 'nothing to run';
    console.log(`${page}: ${result}, ${done.blocks} blocks, ${done.outputs} outputs,${done.left ? ` ${done.left} left out,` : ''} ${((Date.now() - begin) / 1000).toFixed(1)} s`);
  }
}
await Promise.all(Array.from({ length: pagesAtOnce }, worker));
clearTimeout(deadline);
process.exit(failed || expired ? 1 : 0);
