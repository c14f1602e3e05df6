// What the tests in a browser share: the browser, pages that record complaints, and steps. JUDGE_PLAYWRIGHT and CHROMIUM are set by
// scripts/check/external/page.
const { chromium } = await import(process.env.JUDGE_PLAYWRIGHT);

// Chromium cannot use its sandbox as root.
export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])] });
const failures = [];

export function check(holds, what) {
  if (!holds) throw new Error(what);
}

// newPage opens a page that records errors, warnings and requests to addresses that are not allowed as complaints, which fail the step.
export async function newPage(allowed, { width, height, ...options }) {
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.complaints = [];
  page.on('console', m => { if (['error', 'warning'].includes(m.type())) page.complaints.push(m.text()); });
  page.on('pageerror', e => page.complaints.push(e.message));
  page.on('request', r => { if (!allowed(r.url())) page.complaints.push(`fetches ${r.url()}`); });
  return page;
}

// steps returns the function that runs a step. The step gets visit, and its pages are closed after it.
export const steps = visit => async function step(name, run) {
  const began = Date.now();
  const pages = [];
  try {
    await run(async options => {
      const page = await visit(options);
      pages.push(page);
      return page;
    });
    for (const page of pages) check(page.complaints.length === 0, page.complaints.join('\n'));
    console.log(`   ${name}: ok, ${((Date.now() - began) / 1000).toFixed(1)} s`);
  } catch (problem) {
    failures.push(name);
    console.error(`   ${name}: FAILED: ${problem.message}`);
  }
  for (const page of pages) await page.context().close();
};

// end closes the browser, and ends the program with 1 when a step failed.
export async function end() {
  await browser.close();
  if (failures.length === 0) return;
  console.error(`${failures.length} steps failed: ${failures.join('; ')}`);
  process.exit(1);
}
