// A company whose strings are as long, as wide and as odd as the API accepts.

const word = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerk';
const texts = [
  word.repeat(5), 'שלום עולם, זה טקסט מימין לשמאל '.repeat(6), 'Z̸̢̛̟̝̬͓͔͎͖̤͍̠̜̺̹͛̓̅̀͂̔̏a̶̧̨̳̳̗̪̼̩̣̫̖̤̓̏̎͗l̷̨̤̟̙͉̹͖̰̭̏̂̿̋͛̓g̷̨̛̟̲̱̖̬̠̈́̀̏͂o̴̧̜͔͕̜̥̐̀̑͐ ', '日本語の長い題名はどこでも折り返せる'.repeat(9),
  '<script>alert(1)</script><b>"\'&amp;', '👩‍👩‍👧‍👦🏳️‍🌈'.repeat(10), 'W'.repeat(200), 'a b '.repeat(50), 'https://example.com/' + 'path/'.repeat(34), '.',
];

// fill stores the company's records through the API.
export async function fill(api, company, key) {
  async function call(method, path, body) {
    const response = await fetch(`${api}/v1/companies/${company}${path}`, { method, body: JSON.stringify(body), headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' } });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }
  // text returns the next of the texts, cut to at most the given number of characters.
  let n = 0;
  const text = (most = 200) => {
    const one = texts[n++ % texts.length];
    return [...one.repeat(most > 200 ? 20 : 1)].reduce((cut, c) => (cut.length + c.length > most ? cut : cut + c), '').trim() || '.';
  };
  const times = (count, make) => Promise.all(Array.from({ length: count }, (_, i) => make(i)));
  const day = days => new Date(Date.now() + days * 864e5).toISOString();

  await call('PATCH', '', { name: text(), summary: text(2000), industry: text() });
  await call('PATCH', '/context/brand-kit', { voiceTone: [text(60), text(60)], voiceGuidelines: text(4000), avoidWords: [text(40)], artStyle: text(2000) });
  const boards = await times(4, () => call('POST', '/plan/boards', { name: text(), allowedOrigins: ['https://' + 'sub.'.repeat(20) + 'example.com'] }));
  for (let i = 0; i < 30; i++) {
    await call('POST', `/plan/boards/${boards[0].id}/items`, {
      title: text(), summary: text(1000), slug: `item-${i}`, columnId: ['now', 'next', 'W'.repeat(200), 'ein_sehr_langer_name_einer_spalte', word, null][i % 6],
      categoryIds: [word, 'short', 'w'.repeat(60)], status: ['published', 'draft', 'archived'][i % 3], targetLabel: text(60), sortOrder: i,
    });
  }
  await call('POST', `/plan/boards/${boards[0].id}/publish`, {});
  const review = i => ({ source: ['app_store', 'google_play', 'reddit'][i % 3], externalId: `h-${i}`, title: text(), body: text(i === 0 ? 20000 : 1500), rating: i % 5 + 1, priority: i, authorName: text(), territory: 'DE', appVersion: text(40), postedAt: day(-i), flags: [] });
  await call('POST', '/feedback', { records: Array.from({ length: 20 }, (_, i) => review(i)) });
  await times(6, i => call('POST', '/metrics/definitions', { key: `custom.${'m'.repeat(20 * (i + 1))}`, name: text(), description: text(2000), unit: ['count', 'currency_minor', 'ratio', 'duration_ms', 'bytes', 'count'][i], aggregation: 'sum', dimensions: ['country'] }));
  await call('POST', '/metrics/points', {
    points: Array.from({ length: 90 }, (_, i) => ({ metricKey: `custom.${'m'.repeat(20 * (i % 6 + 1))}`, ts: day(-i).slice(0, 10) + 'T00:00:00Z', value: [1e15, -1e12, 0.000001, 0][i % 4], currency: i % 6 === 1 ? 'EUR' : undefined, dims: i % 2 ? { country: word + i % 9 } : undefined })),
  });
  const site = await call('POST', '/optimise/sites', { name: text(), domains: ['sub.'.repeat(20) + 'example.com'] });
  await call('POST', `/optimise/sites/${site.id}/goals`, { name: text(), kind: 'conversion', matchType: 'event', pattern: 'p'.repeat(500) }).catch(() => null);
  for (let i = 0; i < 3; i++) {
    await call('POST', '/optimise/audits', {
      rootUrl: 'https://' + 'sub.'.repeat(20) + 'example.com/' + 'w'.repeat(300), siteId: site.id, status: 'complete', startedAt: day(-9 + i), scoreSeo: 90 - i * 9, scoreAeo: 50, summary: text(2000),
      findings: Array.from({ length: 9 }, (_, f) => ({ url: `https://example.com/${'w'.repeat(100 + f)}`, score: 40 + i, findings: [{ rule: 'r'.repeat(80), severity: ['high', 'low', 'x'.repeat(60)][f % 3], text: text(600) + (i + f) % 7 }] })),
    });
  }
  await call('POST', '/optimise/audits', { rootUrl: 'https://example.com', siteId: site.id, status: 'failed', startedAt: day(-1), error: text(2000) });
  const plan = await call('POST', '/broadcast/plans', { name: text(), brief: text(2000), cadence: text(), startsAt: day(-5), endsAt: day(20) });
  await times(8, i => call('POST', '/broadcast/ideas', { title: text(), planId: plan.id, summary: text(1000), rationale: text(1000), platforms: ['x', 'instagram'], suggestedFor: day(i) }));
  const platforms = ['app_store', 'x', 'instagram', 'tiktok', 'facebook', 'reddit', 'push'];
  for (let i = 0; i < 20; i++) {
    const platform = platforms.slice(1)[i % 6];
    await call('POST', '/broadcast/posts', {
      platform, title: text(), body: text(i ? 900 : 9000), hashtags: [word, 'short'], ...(platform === 'push' && { destination: text(200), deepLink: 'https://example.com/' + 'w'.repeat(900) }),
      ...(i % 3 && { scheduledFor: day(i % 7 - 2), status: 'scheduled' }),
    });
  }
  await times(3, () => call('POST', '/context/content-types', { name: text(), description: text(1000), active: true, defaultPlatforms: ['x'], cadence: text() }));
  await times(3, i => call('POST', '/context/goals', { name: text(), description: text(1000), metricKey: `custom.${'m'.repeat(20 * (i + 1))}`, targetValue: 1e15, status: 'active' }));
  await times(2, () => call('POST', '/keys', { name: text(), scopes: ['company:read', 'plan:read', 'plan:write'] }));
}
