// Tests the reference in a browser. ./page starts it, with the server and the browser in environment variables.
import { createServer, request as forward } from 'node:http';
import { join } from 'node:path';
import { check, end, newPage, steps } from './page_browser.mjs';

const { JUDGE_URL: url, PAGE_SHOTS: shots } = process.env;
const api = await (await fetch(`${url}/openapi.json`)).json();
const operations = Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, o]) => ({ ...o, path, method: method.toUpperCase() })));

// visit opens the reference and records errors, warnings and requests to other hosts as complaints, which fail the step.
async function visit({ width = 1280, height = 900, address = `${url}/`, ...options } = {}) {
  const page = await newPage(target => target.startsWith(new URL(address).origin) || target.startsWith('data:'), { width, height, ...options });
  await page.goto(address);
  if (options.javaScriptEnabled !== false) await page.getByRole('heading', { name: api.info.title }).waitFor();
  return page;
}

const step = steps(visit);

// at is the address of an operation in the reference.
const at = o => `${url}/#tag/${o.tags[0]}/${o.method}${o.path}`;

await step('the sidebar has every area, and an area its operations', async visit => {
  const page = await visit();
  for (const tag of api.tags) {
    const area = page.locator(`[data-sidebar-id$="/tag/${tag.name}"]`).first();
    await area.getByText(tag['x-displayName'], { exact: true }).click();
    for (const o of operations.filter(o => o.tags[0] === tag.name)) await area.getByText(o.summary, { exact: true }).waitFor({ state: 'attached' });
  }
});

await step('an operation has its description, scope, example and responses', async visit => {
  const o = operations.find(o => o.operationId === 'create_plan_item');
  const page = await visit({ address: at(o) });
  await page.getByRole('heading', { name: o.summary }).waitFor();
  for (const text of ['plan:write', 'targetLabel', 'Offline search', '409']) await page.getByText(text).first().waitFor();
  await page.getByText(`${url}/v1/companies/`).first().waitFor();
  check(!(await page.locator('body').innerText()).includes('/./'), 'an example calls /./');
});

await step('search finds an operation', async visit => {
  const page = await visit();
  await page.getByRole('search').first().click();
  await page.keyboard.type('rotate');
  const rotate = operations.find(o => o.operationId === 'rotate_key');
  await page.getByRole('option', { name: rotate.summary }).first().click();
  await page.getByRole('heading', { name: rotate.summary }).waitFor();
});

await step('nothing takes a key or sends a request, and nothing is stored', async visit => {
  const page = await visit({ address: at(operations.find(o => o.operationId === 'list_feedback')) });
  await page.getByRole('heading', { name: 'Reviews' }).first().waitFor();
  check(await page.locator('input[type=password], [placeholder*=oken]').filter({ visible: true }).count() === 0, 'an element takes a key');
  check(await page.getByRole('button', { name: /test request|send/i }).filter({ visible: true }).count() === 0, 'a button sends requests');
  check(await page.evaluate(() => document.cookie) === '', 'a cookie is set');
});

await step('fits a phone, in both themes', async visit => {
  for (const [width, colorScheme] of [[320, 'light'], [390, 'dark']]) {
    const page = await visit({ width, height: 812, colorScheme });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(over <= 0, `${width} px: ${over} px too wide`);
  }
});

await step('without JavaScript it leads to the document', async visit => {
  const page = await visit({ javaScriptEnabled: false });
  check(await page.getByRole('link', { name: 'the OpenAPI document' }).getAttribute('href') === 'openapi.json', 'no link to the document');
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
    await visit({ address: `http://127.0.0.1:${proxy.address().port}/prod/` });
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
});

if (shots) {
  await step(`screenshots in ${shots}`, async visit => {
    for (const width of [1440, 390]) {
      for (const colorScheme of ['light', 'dark']) {
        const page = await visit({ width, colorScheme, address: at(operations.find(o => o.operationId === 'create_plan_item')) });
        await page.screenshot({ path: join(shots, `reference-${width}-${colorScheme}.png`) });
      }
    }
  });
}

await end();
