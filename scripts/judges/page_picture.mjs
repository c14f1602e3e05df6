// Takes the picture of the reference page that the README shows: scripts/judges/page picture starts it, with the server
// and the browser in the environment.
// usage: node scripts/judges/page_picture.mjs FILE.png
import { statSync } from 'node:fs';

const bytesMax = 150_000;
const [file] = process.argv.slice(2);
const { chromium } = await import(process.env.JUDGE_PLAYWRIGHT);

// A browser that runs as root has no sandbox to run in.
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--disable-gpu', '--disable-lcd-text', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light', reducedMotion: 'reduce' });
  await page.goto(process.env.JUDGE_URL, { waitUntil: 'networkidle' });
  await page.evaluate(() => document.getElementById('demo')?.scrollIntoView()); // the demo company's records, when the page shows them
  await page.screenshot({ path: file });
} finally {
  await browser.close();
}
const { size } = statSync(file);
console.log(`   ${file}: ${size} bytes`);
if (size > bytesMax) throw new Error(`the picture has more than ${bytesMax} bytes`);
