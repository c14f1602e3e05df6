// Tests the studio in a browser: each flow from a click to the stored record. ./page starts it, with the server, the
// browser and axe-core in environment variables.
import { createServer } from 'node:http';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { browser, check, end, newPage, steps } from './page_browser.mjs';

const { JUDGE_URL: api, JUDGE_STUDIO: door, JUDGE_KEY: key, JUDGE_COMPANY: company, PAGE_SHOTS: shots } = process.env;
const axe = readFileSync(process.env.JUDGE_AXE, 'utf8');
const studio = new URL(door).origin;

// call sends a request to the API, as another program would.
async function call(method, path, body) {
  const response = await fetch(`${api}/v1/companies/${company}${path}`, {
    method, body: body && JSON.stringify(body), headers: { Authorization: `Bearer ${key}`, ...(body && { 'Content-Type': 'application/json' }) },
  });
  check(response.ok, `${method} ${path}: ${response.status}`);
  return response.json();
}

// review stores a review that comes first in the inbox, and returns its id.
let count = 0;
async function review(more = {}) {
  const externalId = `judge-${Date.now()}-${count++}`;
  const record = { source: 'app_store', externalId, title: `Judged ${externalId}`, body: 'A review.', rating: 2, priority: 0, postedAt: new Date().toISOString(), ...more };
  await call('POST', '/feedback', { records: [record] });
  const { items } = await call('GET', '/feedback?limit=200&replyStatus=none&source=app_store');
  return items.find(item => item.externalId === externalId).id;
}

// visit enters the studio and records errors, blocked content and requests to other hosts as complaints, which fail the step.
async function visit({ width = 1440, height = 900, path = '/', ...options } = {}) {
  const page = await newPage(target => target.startsWith(studio), { width, height, ...options });
  await page.goto(door);
  check(page.url() === `${studio}/`, `the token stays in the address: ${page.url()}`);
  if (path !== '/') await page.goto(studio + path);
  return page;
}

const step = steps(visit);

const text = 'Thank you, and sorry: version 4.3 asks first.';

await step('a browser enters through a file, and not without the token', async () => {
  const file = join(tmpdir(), `studio-${process.pid}.html`);
  writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${door}">`, { mode: 0o600 });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`file://${file}`);
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  const stranger = await browser.newContext();
  for (const path of ['/', '/reviews', '/?token=old', '/static/studio.css']) {
    const response = await (await stranger.newPage()).goto(studio + path);
    check(response.status() === 403 || response.status() === 404, `${path}: ${response.status()}`);
  }
  await context.close();
  await stranger.close();
});

await step('flow: from the overview to a metric, whose total is that of the API', async visit => {
  const page = await visit();
  await page.locator('.tile', { hasText: 'Sign-ups' }).getByRole('link').click();
  await page.getByRole('heading', { name: 'Sign-ups' }).waitFor();
  const first = new Date().toISOString().slice(0, 8) + '01';
  const { items } = await call('GET', `/metrics/points?metricKey=growth.signups&limit=1000&from=${first}`);
  const total = items.reduce((sum, point) => sum + point.value, 0).toLocaleString('en');
  const shown = await page.locator('.facts .big').first().innerText();
  check(shown === total, `${shown} is shown, ${total} is stored`);
  await page.locator('.chart.wide .point').last().focus();
  check(await page.locator('.chart.wide .point:focus .tip').isVisible(), 'focus shows no value');
  await page.keyboard.press('ArrowLeft');
  check((await page.locator(':focus').getAttribute('aria-label')).includes(','), 'the arrows reach no other value');
  await page.locator('.chart.wide .point').nth(3).hover();
  check(await page.locator('.chart.wide .point').nth(3).locator('.tip').isVisible(), 'hover shows no value');
  await page.getByRole('link', { name: 'by country' }).click();
  check(await page.locator('.chart.wide path.line').count() >= 4, 'no line for each part');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download CSV' }).click()]);
  check(readFileSync(await download.path(), 'utf8').startsWith('day,country,value,unit\n'), 'not the file of this chart');
  await page.getByRole('link', { name: '12 months' }).click();
  await page.locator('.chart.wide .line').first().waitFor({ state: 'attached' });
});

await step('flow: a review is answered and approved', async visit => {
  const id = await review();
  const page = await visit();
  await page.locator(`.waiting a[href="/reviews?id=${id}"]`).first().click();
  await page.fill('#body', `${text} It is seamless.`);
  check(await page.locator('#avoided').innerText() === 'The brand avoids “seamless”.', 'a word to avoid is not named');
  await page.fill('#body', text);
  await page.locator('#answer').getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Approved. Nothing was posted yet').waitFor();
  const stored = await call('GET', `/feedback/${id}`);
  check(stored.replyStatus === 'approved' && stored.replyBody === text, JSON.stringify(stored));
});

await step('flow: the inbox by keyboard', async visit => {
  const [second, first] = [await review(), await review()];
  const page = await visit({ path: '/reviews' });
  const at = () => page.locator('.reviews .current').getAttribute('data-id');
  check(await at() === first, 'the newest of the most urgent is not first');
  await page.keyboard.press('j');
  await page.waitForURL(`**id=${second}**`);
  await page.keyboard.press('k');
  await page.waitForURL(`**id=${first}**`);
  await page.keyboard.press('e');
  await page.keyboard.type('jksa');
  check(await page.inputValue('#body') === 'jksa' && page.url().includes(first), 'typing moved or approved');
  await page.fill('#body', '');
  await page.keyboard.press('Escape');
  await page.keyboard.press('s');
  await page.getByText('Skipped.').waitFor();
  check((await call('GET', `/feedback/${first}`)).replyStatus === 'skipped', 'not skipped');
  check(await at() === second, 'not at the next review');
  await page.keyboard.press('e');
  await page.keyboard.type(text);
  await page.keyboard.press('Escape');
  await page.keyboard.press('a');
  await page.getByText('Approved. Nothing was posted yet').waitFor();
  check((await call('GET', `/feedback/${second}`)).replyBody === text, 'not approved');
});

await step('typed text survives new reviews, a second writer and leaving', async visit => {
  const id = await review();
  const page = await visit({ path: `/reviews?id=${id}` });
  await page.fill('#body', text);
  const added = [await review(), await review(), await review()];
  await page.evaluate(() => dispatchEvent(new Event('focus')));
  await page.getByText('3 new').waitFor();
  await page.getByRole('button', { name: 'Reload the list' }).click();
  await page.locator(`[data-id="${added[2]}"]`).waitFor();
  check(await page.inputValue('#body') === text, 'the reload lost the text');
  const dialogs = [];
  page.on('dialog', dialog => { dialogs.push(dialog.type()); dialog.dismiss(); });
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.waitForTimeout(300);
  check(dialogs.join() === 'beforeunload' && await page.inputValue('#body') === text, 'no warning before the text is lost');
  await call('PATCH', `/feedback/${id}/reply`, { replyBody: 'Theirs', replyStatus: 'draft' });
  await page.getByRole('button', { name: 'Save for review' }).click();
  await page.getByText('Somebody else changed this reply').waitFor();
  check(await page.inputValue('#body') === text && await page.getByText('Theirs', { exact: true }).isVisible(), 'not both sides');
  check((await call('GET', `/feedback/${id}`)).replyBody === 'Theirs', 'the other text was overwritten');
  page.complaints = page.complaints.filter(c => !c.includes('412'));
  await page.getByRole('button', { name: 'Save for review' }).click();
  await page.getByText('Saved for review.').waitFor();
  check((await call('GET', `/feedback/${id}`)).replyBody === text, 'the decision was not stored');
  for (const one of added) await call('PATCH', `/feedback/${one}/reply`, { replyStatus: 'skipped' });
});

await step('flow: several reviews are skipped at once', async visit => {
  const ids = [await review(), await review()];
  const page = await visit({ path: '/reviews' });
  for (const id of ids) await page.locator(`[data-id="${id}"] input`).check();
  await page.locator('#skipticked').click();
  await page.getByText('Skipped 2 reviews.').waitFor();
  for (const id of ids) check((await call('GET', `/feedback/${id}`)).replyStatus === 'skipped', 'not skipped');
});

await step('flow: the profile is edited and unset', async visit => {
  const before = await call('GET', '');
  const page = await visit();
  await page.getByRole('link', { name: 'Company', exact: true }).click();
  await page.fill('#summary', 'Written by a browser.');
  await page.fill('#industry', '');
  await page.selectOption('#stage', 'scale');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  const stored = await call('GET', '');
  check(stored.summary === 'Written by a browser.' && stored.industry === null && stored.stage === 'scale' && stored.name === before.name, JSON.stringify(stored));
  await page.fill('#summary', 'Typed while another wrote.');
  await call('PATCH', '', { summary: before.summary, industry: before.industry, stage: before.stage });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Somebody else changed the profile').waitFor();
  check(await page.inputValue('#summary') === 'Typed while another wrote.' && await page.inputValue('#industry') === before.industry, 'not both sides');
  check((await call('GET', '')).summary === before.summary, 'the other change was overwritten');
  page.complaints = page.complaints.filter(c => !c.includes('412'));
});

await step('flow: an item is written, moved with keys and by dragging, and published', async visit => {
  const page = await visit({ path: '/roadmap' });
  await page.getByRole('link', { name: 'New item' }).click();
  await page.fill('#title', 'Written by a browser');
  await page.fill('#newColumn', 'someday');
  await page.selectOption('#status', 'published');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Visitors see the change after the next publish.').waitFor();
  const item = page.locator('.item', { hasText: 'Written by a browser' });
  await item.getByText('appears').waitFor();
  await item.hover();
  await item.getByRole('button', { name: 'column before' }).click();
  await page.getByText('Moved to').waitFor();
  check(await item.getByRole('button', { name: 'column before' }).evaluate(button => button === document.activeElement), 'the arrow loses the focus');
  const now = page.locator('.column', { has: page.getByRole('heading', { name: /^Now/ }) });
  const items = await now.locator('.item').count();
  for (let left = items; left > 0; left--) {
    await now.locator('.item').first().dragTo(page.locator('.column', { hasText: 'Later' }), { targetPosition: { x: 40, y: 60 } });
    await page.getByText('Moved to Later').waitFor();
  }
  await now.getByRole('link', { name: 'Add the first item' }).waitFor();
  for (let back = 0; back < items; back++) {
    await page.locator('.column', { hasText: 'Later' }).locator('.item').first().dragTo(now.locator('ol'));
    await page.getByText('Moved to Now').waitFor();
  }
  await item.dragTo(page.locator('.column', { hasText: 'Next' }).locator('.item').first(), { targetPosition: { x: 40, y: 6 } });
  await page.getByText('Moved to Next').waitFor();
  check(await page.locator('.column', { hasText: 'Next' }).locator('.item').first().getByText('Written by a browser').count() === 1, 'not the first of its column');
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText('Published version').waitFor();
  await page.getByText('All changes are published.').waitFor();
  await page.getByRole('link', { name: 'What visitors see' }).click();
  await page.locator('.item', { hasText: 'Written by a browser' }).waitFor();
});

await step('flow: a key is created, and its secret is in a file and not in the page', async visit => {
  const page = await visit({ path: '/keys' });
  await page.fill('#name', 'Of a browser');
  await page.getByLabel('Something else').check();
  await page.locator('[value="company:read"]').check();
  await page.getByRole('button', { name: 'Create' }).click();
  const notice = await page.getByRole('status').innerText();
  const secret = readFileSync(notice.match(/in the file (\S+), which/)[1], 'utf8').trim();
  const response = await fetch(`${api}/v1/companies/${company}`, { headers: { Authorization: `Bearer ${secret}` } });
  check(response.status === 200, `the new key gets ${response.status}`);
  check(!(await page.content()).includes(secret), 'the secret is in the page');
  await page.locator('tr', { hasText: 'Of a browser' }).getByText('Change').click();
  await page.locator('tr', { hasText: 'Of a browser' }).getByRole('checkbox').check();
  await page.locator('tr', { hasText: 'Of a browser' }).getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('the service refuses it from now on').waitFor();
});

await step('flow: a post is written from a day, scheduled, dragged to another day and unscheduled', async visit => {
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString().slice(0, 7);
  const page = await visit({ path: '/posts' });
  await page.getByRole('link', { name: 'The next month' }).click();
  await page.waitForURL(`**month=${month}`);
  await page.locator(`[data-day="${month}-10"]`).click({ position: { x: 60, y: 80 } });
  await page.waitForURL(`**day=${month}-10`);
  await page.selectOption('#platform', 'x');
  await page.fill('#body', 'Written by a browser, for a day. '.repeat(12));
  await page.getByRole('button', { name: 'Schedule' }).click();
  await page.getByText('Saved. It is scheduled for').waitFor();
  await page.getByText('2 of 2').waitFor();
  const id = new URL(page.url()).pathname.split('/').pop();
  const before = await call('GET', `/broadcast/posts/${id}`);
  check(before.status === 'scheduled' && before.threadParts.length === 2 && before.scheduledFor.startsWith(`${month}-10`), JSON.stringify(before));
  await page.getByRole('link', { name: 'Calendar' }).click();
  await page.locator(`[data-id="${id}"]`).dragTo(page.locator(`[data-day="${month}-17"]`));
  await page.getByText('Moved to').waitFor();
  await page.locator(`[data-day="${month}-17"] [data-id="${id}"]`).waitFor();
  const moved = await call('GET', `/broadcast/posts/${id}`);
  check(moved.scheduledFor === before.scheduledFor.replace(`${month}-10`, `${month}-17`), `${before.scheduledFor} became ${moved.scheduledFor}`);
  await page.locator(`[data-id="${id}"]`).click();
  await page.getByRole('button', { name: 'Unschedule' }).click();
  await page.getByText('Saved as a draft').waitFor();
  check((await call('GET', `/broadcast/posts/${id}`)).status === 'draft', 'still scheduled');
  await page.getByText('Delete this post').click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Deleted.').waitFor();
});

await step('flow: why the score of an audit fell', async visit => {
  const { id: siteId } = await call('POST', '/optimise/sites', { name: 'Judged site' });
  const found = (url, ...findings) => ({ url: `https://judged.example${url}`, status: 200, score: 90 - 20 * findings.length, findings });
  const canonical = { rule: 'canonical', severity: 'high', text: 'The page names another page as its canonical address.' };
  const author = { rule: 'author', severity: 'low', text: 'Nobody is named as the author.' };
  const store = (startedAt, scoreSeo, findings) => call('POST', '/optimise/audits', { siteId, rootUrl: 'https://judged.example', startedAt, scoreSeo, scoreAeo: 70, findings });
  await store('2026-07-01T08:00:00Z', 84, [found('/', author), found('/pricing')]);
  await store('2026-07-08T08:00:00Z', 71, [found('/'), found('/pricing', canonical)]);
  const page = await visit();
  await page.getByRole('link', { name: 'Sites', exact: true }).click();
  await page.getByRole('link', { name: 'Judged site' }).click();
  check(await page.locator('.chart.wide path.line').count() === 2, 'not a line for each score');
  await page.getByRole('link', { name: 'Why it fell' }).click();
  await page.getByText('SEO fell from 84 to 71.').waitFor();
  const [fresh, gone] = await page.locator('.two > div').allInnerTexts();
  check(fresh.includes(canonical.text) && fresh.includes('/pricing') && !fresh.includes(author.text), `new issues: ${fresh}`);
  check(gone.includes(author.text) && !gone.includes(canonical.text), `issues that are gone: ${gone}`);
  await page.getByRole('link', { name: 'By page' }).click();
  await page.locator('.ofpage', { hasText: '/pricing' }).getByText(canonical.text).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download JSON' }).click()]);
  check(JSON.parse(readFileSync(await download.path(), 'utf8')).length === 2, 'not the findings');
  await page.getByRole('link', { name: '← Sites' }).click();
  await page.getByRole('link', { name: 'Edit site' }).click();
  await page.getByText('Delete this site').click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Deleted.').waitFor();
});

const audits = (await call('GET', '/optimise/audits?limit=50&status=complete')).items;

await step('works without JavaScript', async visit => {
  const id = await review();
  const page = await visit({ javaScriptEnabled: false, width: 390, height: 844 });
  await page.getByText('Menu').click();
  await page.getByRole('link', { name: /^Reviews/ }).click();
  await page.locator(`[data-id="${id}"] a`).click();
  await page.fill('#body', text);
  await page.locator('#answer').getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Approved. Nothing was posted yet').waitFor();
  check((await call('GET', `/feedback/${id}`)).replyStatus === 'approved', 'not approved');
  await page.goto(`${studio}/roadmap`);
  await page.getByRole('link', { name: 'Move', exact: true }).first().click();
  await page.getByRole('button', { name: 'Down' }).click();
  await page.getByText('Moved to').waitFor();
});

await step('a hostile review is text, and a form of another site changes nothing', async visit => {
  const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
  const id = await review({ title: evil, body: evil, authorName: evil });
  const page = await visit({ path: `/reviews?id=${id}` });
  page.on('dialog', dialog => { page.complaints.push('a script of the review ran'); dialog.dismiss(); });
  check((await page.locator('.review .said').innerText()) === evil, 'the text is not shown as it is');
  const other = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(
    `<form method=post action="${studio}/reviews/${id}"><input name=action value=approve><input name=body value=Forged></form><script>document.forms[0].submit()</script>`));
  await new Promise(resolve => other.listen(0, '127.0.0.1', resolve));
  try {
    const forged = await page.context().newPage();
    const [refused] = await Promise.all([
      forged.waitForResponse(response => response.request().method() === 'POST'), forged.goto(`http://127.0.0.1:${other.address().port}/`),
    ]);
    check(refused.status() === 403, `the forged form gets ${refused.status()}`);
  } finally {
    other.close();
    other.closeAllConnections();
  }
  check((await call('GET', `/feedback/${id}`)).replyStatus === 'none', 'the forged form was stored');
  await call('PATCH', `/feedback/${id}/reply`, { replyStatus: 'skipped' });
});

const screens = {
  overview: '/', metrics: '/metrics?key=growth.signups', split: '/metrics?key=growth.signups&split=country', year: '/metrics?key=growth.signups&range=12m',
  derived: '/metrics?key=growth.activation_rate', define: '/metrics/definitions/new', values: '/metrics/values?key=growth.signups', reviews: '/reviews', posted: '/reviews?show=posted', empty: '/reviews?q=xylophone', roadmap: '/roadmap', live: '/roadmap?view=live', item: '/roadmap/items/new', keys: '/keys', activity: '/activity', board: '/roadmap/boards/new',
  firstboard: '/start/board', firstnumber: '/start/number', paste: '/reviews/paste', preset: '/keys?preset=ci',
  sites: '/sites', audits: '/sites?site=all', audit: `/audits/${audits[0].id}`, 'audit-pages': `/audits/${audits[0].id}?by=page`, site: '/sites/new', brand: '/brand', goal: '/brand/goals/new', posts: '/posts', postlist: '/posts/list', ideas: '/ideas', fill: '/posts/fill', accounts: '/posts/accounts', plan: '/ideas/plans/new', idea: '/ideas/edit/new', post: '/posts/new', company: '/company', nowhere: '/nowhere',
};

await step('axe-core finds nothing', async visit => {
  const page = await visit();
  for (const [name, path] of Object.entries(screens)) {
    for (const [width, colorScheme] of [[1440, 'light'], [1440, 'dark'], [390, 'light']]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await page.goto(studio + path);
      // The page's policy blocks other scripts; the debugger can still run one.
      const debug = await page.context().newCDPSession(page);
      await debug.send('Runtime.evaluate', { expression: axe });
      const findings = 'r => r.violations.map(v => `${v.impact} ${v.id}: ${v.help} (${v.nodes.length}) ${v.nodes[0].html.slice(0, 160)}`)';
      // The themes differ only in colours, and color-contrast is the only slow rule.
      const rules = colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : width === 390 ? { rules: { 'color-contrast': { enabled: false } } } : {};
      const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
      const { result } = await debug.send('Runtime.evaluate', { awaitPromise: true, returnByValue: true, expression: `axe.run(document, ${options}).then(${findings})` });
      check(result.value.length === 0, `${name} at ${width} px, ${colorScheme}: ${result.value.join('\n')}`);
    }
  }
  page.complaints = page.complaints.filter(c => !c.includes('404'));
});

if (shots) {
  await step(`screenshots in ${shots}`, async visit => {
    for (const width of [1440, 390]) {
      for (const colorScheme of ['light', 'dark']) {
        const page = await visit({ width, colorScheme, height: width === 390 ? 844 : 900 });
        for (const [name, path] of Object.entries(screens)) {
          await page.goto(studio + path);
          await page.screenshot({ path: join(shots, `studio-${name}-${width}-${colorScheme}.png`) });
        }
        page.complaints = page.complaints.filter(c => !c.includes('404'));
      }
    }
  });
}

await end();
