// Takes the README's picture of the reference page. "scripts/judges/page picture" starts it, with the server and the browser in
// environment variables.
// usage: node scripts/judges/page_picture.mjs FILE.png
import { statSync } from 'node:fs';

const bytesMax = 150_000;
const [file] = process.argv.slice(2);
const { chromium } = await import(process.env.JUDGE_PLAYWRIGHT);

// Chromium cannot use its sandbox as root.
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--disable-gpu', '--disable-lcd-text', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light', reducedMotion: 'reduce' });
  await page.goto(process.env.JUDGE_URL, { waitUntil: 'networkidle' });
  await page.evaluate(() => document.getElementById('demo')?.scrollIntoView()); // the records of the demo company, if the page shows them
  await page.screenshot({ path: file });
} finally {
  await browser.close();
}
const { size } = statSync(file);
console.log(`   ${file}: ${size} bytes`);
if (size > bytesMax) throw new Error(`the picture is larger than ${bytesMax} bytes`);
