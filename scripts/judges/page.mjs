// Tests the reference page in a browser. scripts/judges/page starts it, with the server and the tools in environment variables.
import { createServer, request as forward } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const { JUDGE_URL: url, JUDGE_KEY: key, JUDGE_COMPANY: company, PAGE_SHOTS: shots } = process.env;
const { chromium } = await import(process.env.JUDGE_PLAYWRIGHT);
const axe = readFileSync(process.env.JUDGE_AXE, 'utf8');

// Chromium cannot use its sandbox as root.
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])] });
const failures = [];

function check(holds, what) {
  if (!holds) throw new Error(what);
}

// visit opens the page and records errors, warnings and requests to other hosts as complaints, which fail the step.
async function visit({ width = 1280, height = 900, address = url, ...options } = {}) {
  // Without animations a colour is measured after its transition.
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: 'reduce', permissions: ['clipboard-read', 'clipboard-write'], ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.complaints = [];
  page.on('console', m => { if (['error', 'warning'].includes(m.type())) page.complaints.push(m.text()); });
  page.on('pageerror', e => page.complaints.push(e.message));
  page.on('request', r => { if (!r.url().startsWith(new URL(address).origin) && !r.url().startsWith('data:')) page.complaints.push(`fetches ${r.url()}`); });
  await page.goto(address);
  if (options.javaScriptEnabled !== false) await ready(page);
  return page;
}

// ready waits until the page's scripts have run.
const ready = page => page.waitForFunction(() => document.documentElement.dataset.ready !== undefined);

// desk is a page that several steps share. No step depends on the state that another one leaves.
let desk = null;

async function step(name, run) {
  const began = Date.now();
  const pages = [];
  try {
    await run(async options => {
      const page = await visit(options);
      pages.push(page);
      return page;
    });
    for (const page of [desk, ...pages]) check(page.complaints.length === 0, page.complaints.join('\n'));
    console.log(`   ${name}: ok, ${((Date.now() - began) / 1000).toFixed(1)} s`);
  } catch (problem) {
    failures.push(name);
    console.error(`   ${name}: FAILED: ${problem.message}`);
  }
  desk.complaints = [];
  for (const page of pages) await page.context().close();
}

desk = await visit();

const overflow = page => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
const ground = page => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const open = async (page, id) => { await page.locator(`#${id} .try > summary`).click(); return page.locator(`#${id} .try`); };

await step('shows the demo company, its folded key and its records', async () => {
  const page = desk;
  check(await page.locator('#demo-company').innerText() === company, 'not the demo company');
  check(!await page.locator('#demo-key').isVisible(), 'the key is not folded');
  await page.locator('.credentials summary').click();
  check(await page.locator('#demo-key').innerText() === key, 'not the key of the demo company');
  for (const [what, selector, least] of [['columns', '.board section', 3], ['cards', '.board .card', 5], ['reviews', '.queue .card', 2], ['curves', '.plot .curve', 1], ['days', '.month td', 28], ['posts', '.month li', 1]]) {
    await page.waitForSelector(selector);
    const count = await page.locator(selector).count();
    check(count >= least, `${count} ${what}`);
  }
  check((await page.locator('.plot .said').innerText()).includes('highest'), 'the plot has no description');
  await page.locator('.credentials .copy').click();
  check(await page.evaluate(() => navigator.clipboard.readText()) === key, 'the key is not copied');
  await page.getByLabel('Metric').selectOption('product.sync_time');
  await page.waitForFunction(() => document.querySelector('.plot text').textContent.includes('ms') || document.querySelector('.plot text').textContent.includes('s'));
});

await step('search finds operations by their names and texts', async () => {
  const page = desk;
  await page.keyboard.press('/');
  check(await page.evaluate(() => document.activeElement.id) === 'search', 'the key / does not focus the search');
  await page.keyboard.type('rotate');
  check(await page.locator('#found').innerText() === '1 match', await page.locator('#found').innerText());
  await page.keyboard.press('Enter');
  check(new URL(page.url()).hash === '#rotate_key', page.url());
  await page.fill('#search', 'quarter label');
  check(await page.locator('.side a[href="#create_plan_item"]').isVisible(), 'a word of a field is not found');
  await page.fill('#search', 'xylophone');
  check(await page.locator('#found').innerText() === '0 matches', 'an absent word is found');
  await page.keyboard.press('Escape');
  check(await page.locator('.side li:not([hidden])').count() > 60, 'the search does not clear');
});

await step('the table of contents marks the current section', async () => {
  const page = desk;
  await page.locator('.side a[href="#get_feedback"]').click();
  await page.waitForFunction(() => document.querySelector('.side [aria-current]')?.hash === '#get_feedback');
});

await step('choosing a language changes all examples', async () => {
  const page = desk;
  await page.locator('label[for="get_company-python"]').click();
  check(await page.locator('#list_feedback pre[data-language=python]').isVisible(), 'the language of other examples did not change');
  check(!await page.locator('#list_feedback pre[data-language=curl]').isVisible(), 'two examples are shown');
  await page.locator('#get_company .tabs .copy').click();
  check((await page.evaluate(() => navigator.clipboard.readText())).startsWith('import json'), 'another example is copied');
});

await step('a read is sent with ids from the demo records', async () => {
  const page = desk;
  const form = await open(page, 'list_plan_items');
  await page.waitForFunction(() => document.querySelector('#list_plan_items .try input').value.startsWith('brd_'));
  await form.getByRole('button', { name: 'Send' }).click();
  await page.waitForSelector('#list_plan_items [data-status="200"]');
  check((await form.innerText()).includes('Service-Request-Id'), 'no request id is shown');
  check((await form.locator('.result pre').innerText()).includes('"items"'), 'no body is shown');
  const nested = await open(page, 'get_plan_item');
  await page.waitForFunction(() => document.querySelector('#get_plan_item .try input').value.startsWith('itm_'));
  await nested.getByRole('button', { name: 'Send' }).click();
  await page.waitForSelector('#get_plan_item [data-status="200"]');
});

await step('a write is confirmed first, and its error is shown', async () => {
  const page = desk;
  let posts = 0;
  page.on('request', r => { if (r.method() !== 'GET') posts++; });
  const form = await open(page, 'create_plan_item');
  await page.waitForFunction(() => document.querySelector('#create_plan_item .try input').value.startsWith('brd_'));
  await form.getByRole('button', { name: 'Send' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Cancel' }).click();
  check(posts === 0, 'a cancelled write was sent');
  await form.locator('textarea').fill('{"title": "Seen by a browser", "status": "draft"}');
  await form.getByRole('button', { name: 'Send' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Send' }).click();
  await page.waitForSelector('#create_plan_item [data-status="200"]');
  await form.locator('textarea').fill('{"title": ""}');
  await form.getByRole('button', { name: 'Send' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Send' }).click();
  await page.waitForSelector('#create_plan_item [data-status="400"]');
  check((await form.locator('.result pre').innerText()).includes('body.title'), 'the envelope is not shown');
  page.complaints = page.complaints.filter(c => !c.includes('400'));
});

await step('a key is only kept in memory', async () => {
  const page = desk;
  await page.locator('#key-button').click();
  await page.locator('#key-field').fill(key.slice(0, -1) + (key.endsWith('0') ? '1' : '0'));
  await page.locator('dialog').getByRole('button', { name: 'Use it' }).click();
  const form = await open(page, 'list_companies');
  await form.getByRole('button', { name: 'Send' }).click();
  await page.waitForSelector('#list_companies [data-status="401"]');
  const kept = await page.evaluate(async () => [localStorage.length, sessionStorage.length, document.cookie, (await indexedDB.databases()).length, location.search, history.state].join());
  check(kept === '0,0,,0,,', `something is stored: ${kept}`);
  await page.reload();
  await ready(page);
  check(await page.locator('#key-button').innerText() === 'Demo key', 'the key is kept after a reload');
  page.complaints = page.complaints.filter(c => !c.includes('401'));
});

await step('the theme is that of the system until one is chosen', async visit => {
  const page = await visit({ colorScheme: 'light' });
  const light = await ground(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await ground(page);
  check(light !== dark, 'both themes look the same');
  await page.locator('#theme-button').click();
  check(await ground(page) === light, 'the theme is not light');
  await page.locator('#theme-button').click();
  check(await ground(page) === dark, 'the theme is not dark');
});

await step('fits a phone', async visit => {
  const page = await visit({ width: 320, height: 812 });
  for (const width of [320, 375, 768]) {
    await page.setViewportSize({ width, height: 812 });
    check(await overflow(page) <= 0, `${width} px: ${await overflow(page)} px too wide`);
    if (width > 700) continue;
    check(!await page.locator('.side').isVisible(), 'the menu is open');
    await page.locator('label.menu').click();
    await page.locator('.side a[href="#push_metric_points"]').click();
    check(!await page.locator('.side').isVisible(), 'the menu stays open');
    await open(page, 'push_metric_points');
    check(await overflow(page) <= 0, `${width} px, with a form: ${await overflow(page)} px too wide`);
  }
});

await step('works without JavaScript', async visit => {
  const page = await visit({ javaScriptEnabled: false });
  for (const id of ['overview', 'quick-start', 'errors', 'create_plan_item', 'record-Feedback']) check(await page.locator(`#${id}`).isVisible(), `no ${id}`);
  check(await page.locator('#create_plan_item pre[data-language=curl]').isVisible(), 'no example');
  await page.locator('label[for="create_plan_item-go"]').click();
  check(await page.locator('#create_plan_item pre[data-language=go]').isVisible(), 'the tabs need JavaScript');
  for (const selector of ['.search', '#theme-button', '#key-button', '.try', '.copy']) {
    check(await page.locator(selector).filter({ visible: true }).count() === 0, `${selector} is shown without JavaScript`);
  }
});

await step('works behind a path', async visit => {
  const proxy = createServer((from, to) => {
    if (!from.url.startsWith('/prod/')) { to.writeHead(404).end(); return; }
    const call = forward(new URL(from.url.slice('/prod'.length), url), { method: from.method, headers: from.headers }, response => {
      to.writeHead(response.statusCode, response.headers);
      response.pipe(to);
    });
    from.pipe(call.on('error', () => to.destroy()));
  });
  await new Promise(resolve => proxy.listen(0, '127.0.0.1', resolve));
  try {
    const page = await visit({ address: `http://127.0.0.1:${proxy.address().port}/prod/` });
    await page.waitForSelector('.board .card');
    check((await page.locator('#quick-code').innerText()).includes('/prod\n'), 'the quick start has another address');
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
});

await step('axe-core finds nothing serious', async visit => {
  const findings = 'r => r.violations.map(v => ({ id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.length, first: v.nodes[0].html.slice(0, 160) }))';
  // The themes differ only in colours, and color-contrast is the only slow rule.
  const page = await visit({ colorScheme: 'light' });
  await page.waitForSelector('.plot .curve');
  await page.waitForSelector('.month li', { state: 'attached' });
  await open(page, 'list_plan_items');
  for (const [width, colorScheme, rules] of [[1280, 'light', {}], [1280, 'dark', { runOnly: ['color-contrast'] }], [375, 'dark', { rules: { 'color-contrast': { enabled: false } } }]]) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    // The page's Content-Security-Policy blocks other scripts; the debugger can still run one.
    const debug = await page.context().newCDPSession(page);
    await debug.send('Runtime.evaluate', { expression: axe });
    const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
    const { result } = await debug.send('Runtime.evaluate', { awaitPromise: true, returnByValue: true, expression: `axe.run(document, ${options}).then(${findings})` });
    const found = result.value;
    const serious = found.filter(v => ['serious', 'critical'].includes(v.impact));
    for (const v of found) console.log(`   ${width} px ${colorScheme}: ${v.impact} ${v.id}: ${v.help} (${v.nodes}) ${v.first}`);
    check(serious.length === 0, `${serious.length} serious findings: ${JSON.stringify(serious, null, 1)}`);
  }
});

await step('prints', async () => {
  const page = desk;
  await page.emulateMedia({ media: 'print' });
  for (const selector of ['.bar', '.side', '.try', '#live']) check(!await page.locator(selector).first().isVisible(), `${selector} is printed`);
  check(await page.locator('#create_plan_item pre[data-language]').filter({ visible: true }).count() === 1, 'not exactly one example is printed');
});

if (shots) {
  await step(`screenshots in ${shots}`, async visit => {
    for (const width of [1280, 375]) {
      for (const colorScheme of ['light', 'dark']) {
        const page = await visit({ width, colorScheme, height: width === 375 ? 812 : 900 });
        await page.waitForSelector('.month li', { state: 'attached' });
        for (const id of ['overview', 'demo', 'quick-start', 'errors', 'area-plan', 'create_plan_item', 'record-Item']) {
          await page.evaluate(name => document.getElementById(name).scrollIntoView(), id);
          await page.screenshot({ path: join(shots, `${id}-${width}-${colorScheme}.png`) });
        }
      }
    }
  });
}

await browser.close();
if (failures.length > 0) {
  console.error(`${failures.length} of the page's steps failed: ${failures.join('; ')}`);
  process.exit(1);
}
