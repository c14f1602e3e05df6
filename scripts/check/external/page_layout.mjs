// Tests in a browser that no screen of the studio looks broken, at any width, with any content. It follows the studio's links, so a
// new screen is tested without being named. ./page starts it, with the addresses of three studios in environment
// variables. They show the demo company, an empty company, and one that this program fills with hostile strings.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, end, newPage, steps } from './page_browser.mjs';
import { fill } from './page_hostile.mjs';
import { inspect } from './page_inspect.mjs';

const { JUDGE_STUDIO, JUDGE_EMPTY, JUDGE_HOSTILE, JUDGE_URL: api, JUDGE_HOSTILE_COMPANY: company, JUDGE_HOSTILE_KEY: key, PAGE_SHOTS: shots } = process.env;

const widths = [1440, 1024, 820, 768, 390, 320];

// heights is the maximum height of a page by the width of the window, as a multiple of its height at 1440 pixels.
const heights = { 1440: 1, 1024: 3, 820: 3, 768: 3, 390: 6, 320: 6 };

// shape returns a string that the addresses of one screen share. Only the first address of each shape is tested, because the others
// differ only in data. Parameters that select another layout are part of the shape.
function shape(url) {
  const path = url.pathname.replace(/[a-z]{2,5}_[A-Za-z0-9_-]+/g, '*');
  const parameters = [...url.searchParams.keys()].filter(name => !['done', 'from', 'to'].includes(name)).sort();
  return [path, ...new Set(parameters), url.searchParams.get('view'), url.searchParams.get('by')].join(' ');
}

// crawl calls the look function for every screen that can be reached from the overview, once per shape.
async function crawl(page, start, more, look) {
  const seen = new Set();
  const queue = [];
  const add = address => {
    const url = new URL(address, start);
    // Scalar lays out the reference.
    if (url.origin !== start || url.pathname === '/reference' || url.pathname.startsWith('/static/') || url.pathname.startsWith('/roadmap/visitors/') || /\.(csv|json|html|md)$/.test(url.pathname)) return;
    url.hash = '';
    if (seen.has(shape(url))) return;
    seen.add(shape(url));
    queue.push(url);
  };
  for (const address of ['/', '/metrics', '/roadmap', '/reviews', '/posts', '/sites', '/brand', '/keys', '/company', '/activity', ...more, '/nowhere']) add(address);
  for (let at = 0; at < queue.length; at++) {
    await page.goto(queue[at].href);
    await look(queue[at].pathname + queue[at].search);
    for (const address of await page.evaluate(() => [...document.querySelectorAll('a[href]:not([target])')].map(link => link.href))) add(address);
  }
  return queue.length;
}

const step = steps(async ({ door }) => {
  const origin = new URL(door).origin;
  const page = await newPage(target => target.startsWith(origin), { width: 1440, height: 900 });
  await page.goto(door);
  return page;
});

// judge inspects every screen of a studio.
async function judge(visit, name, door, more, tall) {
  const page = await visit({ door });
  const debug = await page.context().newCDPSession(page);
  const found = new Map(); // the first of each kind of problem
  const pages = await crawl(page, new URL(door).origin, more, async path => {
    const screen = {};
    for (const width of widths) {
      const phone = width < 500;
      await debug.send('Emulation.setDeviceMetricsOverride', { width, height: phone ? 844 : 900, deviceScaleFactor: 1, mobile: phone }); // a phone cannot hover
      await debug.send('Emulation.setTouchEmulationEnabled', { enabled: phone });
      for (const theme of width === 1440 || width === 390 ? ['light', 'dark'] : ['light']) { // the dark theme changes colours only
        await debug.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: theme }, { name: 'prefers-reduced-motion', value: 'reduce' }] });
        const { problems, height } = await page.evaluate(inspect, { width, focus: width === 1440 || width === 390 });
        if (theme === 'light') {
          screen[width] = height;
          const most = heights[width] * screen[1440];
          if (!tall && height > most) problems.push(`is ${height} px high, more than ${heights[width]} times the ${screen[1440]} px at 1440`);
          if (shots) {
            const { data } = await debug.send('Page.captureScreenshot', { captureBeyondViewport: true, clip: { x: 0, y: 0, width, height: Math.min(height, 4000), scale: 1 } });
            writeFileSync(join(shots, `layout-${name}-${path.replace(/\W+/g, '-')}-${width}.png`), Buffer.from(data, 'base64'));
          }
        }
        for (const problem of problems) {
          const kind = problem.replace(/“[^”]*”|\d+/g, '');
          if (found.has(kind)) found.get(kind).more++;
          else found.set(kind, { first: `${path} at ${width} px, ${theme}: ${problem}`, more: 0 });
        }
      }
    }
  });
  page.complaints = page.complaints.filter(c => !c.includes('404'));
  console.log(`   ${name}: ${pages} screens`);
  const lines = [...found.values()].map(({ first, more }) => `${first}${more ? ` (and ${more} like it)` : ''}`);
  check(lines.length === 0, `${lines.length} kinds of problems\n     ${lines.join('\n     ')}`);
}

const more = ['/metrics?key=growth.signups&split=country', '/metrics?key=growth.signups&range=12m', '/metrics?key=growth.activation_rate', '/reviews?q=xylophone'];

await step('no screen of the demo company looks broken', visit => judge(visit, 'demo', JUDGE_STUDIO, more));

await step('no screen of an empty company looks broken', visit => judge(visit, 'empty', JUDGE_EMPTY, []));

await step('no screen of a company with hostile texts looks broken', async visit => {
  await fill(api, company, key);
  await judge(visit, 'hostile', JUDGE_HOSTILE, [], true);
});

await end();
