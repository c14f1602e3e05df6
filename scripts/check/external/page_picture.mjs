// Takes the pictures of the demo company's studio for the README and the documents. "./page picture" starts it, with
// the server and the browser in environment variables.
// usage: node scripts/check/external/page_picture.mjs FOLDER
import { statSync } from 'node:fs';
import { join } from 'node:path';

const bytesMax = 200_000;
const [folder] = process.argv.slice(2);
const { chromium } = await import(process.env.JUDGE_PLAYWRIGHT);
const studio = new URL(process.env.JUDGE_STUDIO).origin;

// Chromium cannot use its sandbox as root.
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--disable-gpu', '--disable-lcd-text', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light', reducedMotion: 'reduce' });
  await page.goto(process.env.JUDGE_STUDIO);
  for (const [name, path] of Object.entries({ overview: '/', metrics: '/metrics', reviews: '/reviews', roadmap: '/roadmap' })) {
    await page.goto(studio + path, { waitUntil: 'networkidle' });
    // The port differs with every run.
    await page.evaluate(() => { for (const host of document.querySelectorAll('.host span:last-child')) host.textContent = '127.0.0.1:8080'; });
    const file = join(folder, `studio-${name}.png`);
    await page.screenshot({ path: file });
    const { size } = statSync(file);
    console.log(`   ${file}: ${size} bytes`);
    if (size > bytesMax) throw new Error(`${file} is larger than ${bytesMax} bytes`);
  }
} finally {
  await browser.close();
}
