// What all parts share: the tab's key, requests to the service, and elements. Nothing is stored anywhere: the key is gone
// when the tab is closed or loaded again. No text from outside becomes HTML: elements are made, never parsed.

const base = new URL('.', import.meta.url).href.replace(/\/$/, '');
const session = { key: '', company: '', demo: false };

const all = (selector, from = document) => [...from.querySelectorAll(selector)];

// make returns an element. Attributes that are functions are listeners; false and null leave an attribute out.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, '');
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter(child => child != null));
  return element;
}

// call sends a request with the key and returns what came back, whatever the status. It throws only when nothing came.
async function call(method, path, { headers = {}, body } = {}) {
  const began = performance.now();
  const answer = await fetch(base + path, {
    method, body, cache: 'no-store', credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer',
    headers: { ...headers, ...(session.key && { Authorization: `Bearer ${session.key}` }), ...(body && { 'Content-Type': 'application/json' }) },
  });
  const text = await answer.text();
  return { status: answer.status, ok: answer.ok, headers: answer.headers, text, milliseconds: Math.round(performance.now() - began) };
}

// read returns the JSON of a path below the company, or throws what the envelope says.
async function read(path) {
  const answer = await call('GET', `/v1/companies/${encodeURIComponent(await companyOf())}${path}`);
  if (!answer.ok) throw new Error(reason(answer));
  return JSON.parse(answer.text);
}

// companyOf is the id of the key's company, which is asked for once.
async function companyOf() {
  if (!session.company) {
    const answer = await call('GET', '/v1/companies');
    if (!answer.ok) throw new Error(reason(answer));
    session.company = JSON.parse(answer.text).items[0].id;
  }
  return session.company;
}

function reason(answer) {
  try {
    return JSON.parse(answer.text).errors.map(e => `${e.code}: ${e.message}`).join('; ');
  } catch {
    return `status ${answer.status}`;
  }
}

// coloured is JSON in lines, in the colours of the examples. Text that is no JSON stays as it is.
function coloured(text) {
  let pretty = text;
  try { pretty = JSON.stringify(JSON.parse(text), null, 2); } catch { return document.createTextNode(text); }
  const out = document.createDocumentFragment();
  const token = /("(?:[^"\\]|\\.)*")(?=:)|("(?:[^"\\]|\\.)*")|(-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b)/g;
  let at = 0;
  for (const match of pretty.matchAll(token)) {
    out.append(pretty.slice(at, match.index), make('span', { class: match[1] ? 'k' : match[2] ? 's' : 'n' }, match[0]));
    at = match.index + match[0].length;
  }
  out.append(pretty.slice(at));
  return out;
}

function copyButton(text, name = 'Copy') {
  return make('button', {
    type: 'button', class: 'copy', 'aria-label': name,
    async click(event) {
      const button = event.currentTarget;
      try {
        await navigator.clipboard.writeText(text());
        button.textContent = 'Copied';
      } catch {
        button.textContent = 'Select it';
      }
      setTimeout(() => { button.textContent = 'Copy'; }, 1600);
    },
  }, 'Copy');
}

addEventListener('DOMContentLoaded', () => {
  for (const element of all('[data-script]')) element.hidden = false;
  startKey();
  startTheme();
  startExamples();
  startNavigation();
  startSearch();
  startTry();
  startLive();
  document.documentElement.dataset.ready = '';
});
// The posts of a month, on the days on which they are due or went out.

async function calendarPanel(heading, body) {
  const posts = (await read('/broadcast/posts?limit=200')).items.filter(p => p.scheduledFor ?? p.publishedAt)
    .map(p => ({ ...p, at: new Date(p.publishedAt ?? p.scheduledFor) }));
  if (posts.length === 0) {
    body.append(make('p', {}, 'No post has a time yet.'));
    return;
  }
  const months = [...new Set(posts.map(p => p.at.toISOString().slice(0, 7)))].sort();
  const next = posts.filter(p => p.status === 'scheduled').map(p => p.at.toISOString().slice(0, 7)).sort()[0];
  let at = Math.max(0, months.indexOf(next ?? months.at(-1)));
  const title = make('span');
  const show = () => {
    title.textContent = new Date(`${months[at]}-01T00:00:00Z`).toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
    back.disabled = at === 0;
    forth.disabled = at === months.length - 1;
    body.replaceChildren(monthOf(months[at], posts));
  };
  const back = make('button', { type: 'button', class: 'line', 'aria-label': 'An earlier month', click() { at--; show(); } }, '←');
  const forth = make('button', { type: 'button', class: 'line', 'aria-label': 'A later month', click() { at++; show(); } }, '→');
  heading.append(title, make('span', { class: 'turn' }, back, forth));
  show();
}

// monthOf is a table of weeks, which begin on Monday.
function monthOf(month, posts) {
  const first = new Date(`${month}-01T00:00:00Z`);
  const begin = new Date(first);
  begin.setUTCDate(1 - (first.getUTCDay() + 6) % 7);
  const table = make('table', { class: 'month' }, make('thead', {}, make('tr', {}, ...['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].map(name => make('th', { scope: 'col' }, name)))));
  const rows = make('tbody');
  for (const date = begin; date.toISOString().slice(0, 7) <= month;) {
    const row = make('tr');
    for (let i = 0; i < 7; i++) {
      const name = date.toISOString().slice(0, 10);
      const due = posts.filter(p => p.at.toISOString().startsWith(name)).sort((a, b) => a.at - b.at);
      row.append(make('td', { class: `${name.startsWith(month) ? '' : 'other'} ${due.length ? '' : 'empty'}` }, make('b', {}, String(date.getUTCDate())),
        due.length ? make('ul', {}, ...due.map(p => make('li', { class: p.status, title: `${p.at.toISOString().slice(11, 16)} ${p.status}: ${p.body ?? ''}` }, `${p.platform} ${p.title ?? p.body ?? ''}`))) : null));
      date.setUTCDate(date.getUTCDate() + 1);
    }
    rows.append(row);
  }
  table.append(rows);
  return table;
}
// One metric over time: a small plot, and what it says in words.

async function metricPanel(heading, body) {
  const definitions = (await read('/metrics/definitions?limit=200')).items.filter(d => d.kind !== 'derived')
    .sort((a, b) => Number(a.needsReview) - Number(b.needsReview));
  let chosen = '';
  const show = async key => {
    chosen = key;
    const definition = definitions.find(d => d.key === key);
    const points = (await read(`/metrics/points?metricKey=${encodeURIComponent(key)}&limit=1000`)).items;
    if (chosen !== key) return; // another was chosen meanwhile
    const values = folded(points, definition.aggregation);
    const box = make('div', { class: 'plot' });
    const draw = () => {
      if (values.length > 1) box.replaceChildren(plot(values, definition, Math.max(260, box.clientWidth - 32)), make('p', { class: 'said' }, said(values, definition)));
      else box.replaceChildren(make('p', { class: 'said' }, `There are no daily points. ${said(values, definition)}`));
    };
    body.replaceChildren(box);
    draw();
    resized = draw;
  };
  let resized = () => {};
  new ResizeObserver(() => resized()).observe(body);
  if (definitions.length === 0) {
    body.append(make('p', {}, 'There is no metric yet.'));
    return;
  }
  heading.append(choice('Metric', definitions.map(d => [d.key, d.name ?? d.key]), body, show));
  await show(definitions[0].key);
}

// folded is one value a day, of all series: their sum where sums mean something, else their mean.
function folded(points, aggregation) {
  return [...grouped(points.filter(p => p.value !== null), p => p.ts)].map(([ts, list]) => {
    const sum = list.reduce((total, p) => total + p.value, 0);
    return { ts, value: aggregation === 'sum' ? sum : sum / list.length, currency: list[0].currency };
  });
}

function said(values, definition) {
  const what = definition.description ?? definition.key;
  if (values.length < 2) return what;
  const last = values.at(-1), low = Math.min(...values.map(v => v.value)), high = Math.max(...values.map(v => v.value));
  const spell = value => spelled(value, definition.unit, last.currency);
  return `${what} ${day(values[0].ts)} to ${day(last.ts)}: lowest ${spell(low)}, highest ${spell(high)}, last ${spell(last.value)}.`;
}

const day = ts => new Date(ts).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

// spelled is a value in its unit.
function spelled(value, unit, currency) {
  const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, notation: 'compact' });
  switch (unit) {
    case 'currency_minor': return new Intl.NumberFormat('en', { style: 'currency', currency: currency ?? 'EUR', notation: 'compact', maximumSignificantDigits: 3 }).format(value / 100);
    case 'ratio': return `${short.format(value * 100)} %`;
    case 'duration_ms': return value < 1000 ? `${short.format(value)} ms` : value < 120000 ? `${short.format(value / 1000)} s` : value < 7200000 ? `${short.format(value / 60000)} min` : `${short.format(value / 3600000)} h`;
    case 'bytes': return value < 1e12 ? `${short.format(value / 1e9)} GB` : `${short.format(value / 1e12)} TB`;
  }
  return short.format(value);
}

function plot(values, definition, width) {
  const height = 220, left = 56, bottom = 24, top = 8;
  const high = Math.max(...values.map(v => v.value)), low = Math.min(...values.map(v => v.value));
  // From nought, unless what changes would be too small to see.
  const floor = low > 0 && low > high * 0.6 ? low - (high - low) * 0.3 : Math.min(0, low);
  const ceiling = high === floor ? floor + 1 : high;
  const x = i => left + (width - left - 6) * i / (values.length - 1);
  const y = value => top + (height - bottom - top) * (1 - (value - floor) / (ceiling - floor));
  const line = values.map((v, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v.value).toFixed(1)}`).join('');
  const svg = shape('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${definition.name ?? definition.key}, a line` });
  for (const part of [0, 0.5, 1]) {
    const value = floor + (ceiling - floor) * part;
    svg.append(shape('line', { class: 'grid', x1: left, x2: width, y1: y(value), y2: y(value) }),
      shape('text', { x: left - 10, y: y(value) + 4, 'text-anchor': 'end' }, spelled(value, definition.unit, values[0].currency)));
  }
  for (const part of width < 480 ? [0, 1] : [0, 1 / 3, 2 / 3, 1]) {
    const i = Math.round((values.length - 1) * part);
    svg.append(shape('text', { x: x(i), y: height - 4, 'text-anchor': part === 0 ? 'start' : part === 1 ? 'end' : 'middle' }, day(values[i].ts)));
  }
  svg.append(shape('path', { class: 'fill', d: `${line}L${x(values.length - 1)} ${y(floor)}L${x(0)} ${y(floor)}Z` }),
    shape('path', { class: 'curve', d: line }),
    shape('circle', { class: 'dot', cx: x(values.length - 1), cy: y(values.at(-1).value), r: 4.5 }));
  return svg;
}

function shape(name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}
// The examples: buttons that copy, one language for all of them, and the address of this very service.

function startExamples() {
  for (const place of all('[data-base]')) place.textContent = base;
  if (session.demo) {
    for (const place of all('[data-demo="company"]')) place.textContent = session.company;
  }
  for (const panel of all('.code')) {
    const shown = () => all('pre', panel).find(pre => pre.offsetParent !== null) ?? panel.querySelector('pre');
    const quick = panel.querySelector('#quick-code');
    panel.append(copyButton(() => {
      const text = shown().textContent;
      return quick && session.demo ? text.replace('sk_live_…', session.key) : text;
    }, 'Copy the example'));
  }
  // One choice is for all examples; what the reader looks at must not move.
  document.addEventListener('change', event => {
    const chosen = event.target;
    if (!chosen.matches('.tabs input')) return;
    const before = chosen.parentElement.getBoundingClientRect().top;
    for (const other of all(`.tabs input[value="${chosen.value}"]`)) other.checked = true;
    scrollBy({ top: chosen.parentElement.getBoundingClientRect().top - before, behavior: 'instant' });
  });
}
// The key of this tab: that of the demo company on one's own machine, or what somebody types.

function startKey() {
  const demo = document.getElementById('demo-key');
  if (demo) {
    session.key = demo.textContent;
    session.company = document.getElementById('demo-company').textContent;
    session.demo = true;
  }
  const button = document.getElementById('key-button');
  button.addEventListener('click', askForKey);
  showKey();
}

function showKey() {
  const button = document.getElementById('key-button');
  button.textContent = session.demo ? 'Demo key' : session.key ? 'Key: set' : 'Set a key';
  document.dispatchEvent(new Event('key'));
}

// askForKey opens the dialogue. There is no form and no name on the field, so that no browser offers to keep it.
function askForKey() {
  const input = make('input', { type: 'password', id: 'key-field', autocomplete: 'off', spellcheck: 'false', placeholder: 'sk_live_…' });
  const take = () => {
    const key = input.value.trim();
    input.value = '';
    dialog.close();
    if (key) Object.assign(session, { key, company: '', demo: false });
    showKey();
  };
  input.addEventListener('keydown', event => { if (event.key === 'Enter') take(); });
  const dialog = make('dialog', { 'aria-labelledby': 'key-title', close() { dialog.remove(); } },
    make('h2', { id: 'key-title' }, 'A key for this tab'),
    make('p', {}, 'It is kept in the memory of this tab only, sent to this server only, and gone when the tab is loaded again. Use a test company’s key with as few scopes as you need.'),
    make('label', {}, 'Secret key', input),
    make('div', { class: 'row' },
      session.key ? make('button', { type: 'button', click() { Object.assign(session, { key: '', company: '', demo: false }); dialog.close(); showKey(); } }, 'Forget the key') : null,
      make('button', { type: 'button', click() { dialog.close(); } }, 'Cancel'),
      make('button', { type: 'button', class: 'solid', click: take }, 'Use it')));
  document.body.append(dialog);
  dialog.showModal();
}

// confirmed asks before something is changed.
function confirmed(method, path, destructive) {
  return new Promise(resolve => {
    let answer = false;
    const dialog = make('dialog', { 'aria-labelledby': 'sure-title', close() { dialog.remove(); resolve(answer); } },
      make('h2', { id: 'sure-title' }, destructive ? 'Do this for good?' : 'Change records?'),
      make('p', {}, 'This sends ', make('code', {}, `${method} ${path}`), ` and ${destructive ? 'cannot be taken back' : 'changes records of the key’s company'}.`),
      make('div', { class: 'row' },
        make('button', { type: 'button', autofocus: true, click() { dialog.close(); } }, 'Cancel'),
        make('button', { type: 'button', class: destructive ? 'solid danger' : 'solid', click() { answer = true; dialog.close(); } }, 'Send')));
    document.body.append(dialog);
    dialog.showModal();
  });
}
// The demo company's records, on one's own machine only: there the page has a place for them.

function startLive() {
  const place = document.getElementById('live');
  if (!place) return;
  document.querySelector('.credentials details').after(copyButton(() => document.getElementById('demo-key').textContent, 'Copy the key'));
  panel(place, 'Roadmap', boardPanel);
  panel(place, 'Review queue', queuePanel);
  panel(place, 'Metric', metricPanel);
  panel(place, 'Posts', calendarPanel);
}

// panel shows a heading at once and what fill appends when it has read it.
async function panel(place, title, fill) {
  const heading = make('h3', {}, title);
  const body = make('div');
  place.append(heading, body);
  try {
    await fill(heading, body);
  } catch (problem) {
    body.append(make('p', { class: 'problem' }, `${title} could not be read: ${problem.message}`));
  }
}

async function boardPanel(heading, body) {
  const boards = (await read('/plan/boards')).items;
  if (boards.length === 0) {
    body.append(make('p', {}, 'There is no board yet.'));
    return;
  }
  const show = async id => {
    const items = (await read(`/plan/boards/${id}/items?limit=200`)).items;
    const columns = grouped(items, i => i.columnId ?? 'no column');
    body.replaceChildren(make('div', { class: 'board', tabindex: '0', role: 'group', 'aria-label': 'The columns of the board' }, ...[...columns].map(([name, cards]) =>
      make('section', { 'aria-label': name },
        make('h4', {}, name, make('span', {}, String(cards.length))),
        ...cards.map(i => make('div', { class: 'card' }, i.title, make('p', {}, [i.targetLabel, i.status?.replace('_', ' ')].filter(Boolean).join(' · '))))))));
  };
  heading.append(choice('Board', boards.map(b => [b.id, b.name ?? b.id]), body, show));
  await show(boards[0].id);
}

function grouped(list, key) {
  const out = new Map();
  for (const entry of list) out.set(key(entry), [...(out.get(key(entry)) ?? []), entry]);
  return out;
}

// choice is a select; what goes wrong with a later choice is shown in the panel's body.
function choice(name, options, body, show) {
  const change = event => show(event.target.value).catch(problem => body.replaceChildren(make('p', { class: 'problem' }, problem.message)));
  return make('select', { 'aria-label': name, change }, ...options.map(([value, text]) => make('option', { value }, text)));
}

function stars(rating) {
  const full = Math.min(5, Math.max(0, Math.round(rating)));
  return '★'.repeat(full) + '☆'.repeat(5 - full);
}

async function queuePanel(heading, body) {
  const reviews = (await read('/feedback?replyStatus=needs_review&limit=6')).items;
  heading.append(make('span', {}, 'replies that wait for a person, the most urgent first'));
  body.append(make('div', { class: 'queue' }, ...reviews.map(r => make('article', { class: 'card' },
    r.rating === null ? null : make('span', { class: 'stars', role: 'img', 'aria-label': `${r.rating} of 5 stars` }, stars(r.rating)),
    make('p', { class: 'quote' }, r.title ? make('b', {}, r.title) : null, r.body ?? ''),
    make('p', {}, [r.authorName, r.source?.replace('_', ' '), ...(r.flags ?? [])].filter(Boolean).join(' · ')),
    r.replyBody ? make('p', { class: 'reply' }, r.replyBody) : null))));
  if (reviews.length === 0) body.append(make('p', {}, 'Nothing waits.'));
}
// The contents: what is read is marked, and on a phone they fold away once something is chosen.

function startNavigation() {
  const side = document.querySelector('.side');
  const links = new Map(all('a[href^="#"]', side).map(link => [link.hash.slice(1), link]));
  const parts = all('[data-part]');
  const demo = document.getElementById('demo');
  if (demo) {
    const link = make('a', { href: '#demo' }, 'Your workspace');
    links.get('overview').parentElement.after(make('li', {}, link));
    links.set('demo', link);
  }
  let current = null;
  let waiting = false;
  const mark = () => {
    waiting = false;
    // The last part that begins in the upper third is the one that is read; an area contains its operations.
    let found = parts[0];
    for (const part of parts) {
      if (part.getBoundingClientRect().top < innerHeight / 3) found = part;
    }
    const link = links.get(found.id);
    if (!link || link === current) return;
    current?.removeAttribute('aria-current');
    link.setAttribute('aria-current', 'true');
    current = link;
    if (side.scrollHeight > side.clientHeight) {
      const box = link.getBoundingClientRect(), frame = side.getBoundingClientRect();
      if (box.top < frame.top + 60 || box.bottom > frame.bottom - 60) side.scrollTop += box.top - frame.top - frame.height / 3;
    }
  };
  addEventListener('scroll', () => { if (!waiting) { waiting = true; requestAnimationFrame(mark); } }, { passive: true });
  addEventListener('resize', mark);
  side.addEventListener('click', event => {
    if (event.target.closest('a')) document.getElementById('menu').checked = false;
  });
  mark();
}
// The search goes through names, paths, scopes, summaries and fields of everything on the page.

function startSearch() {
  const input = document.getElementById('search');
  const found = document.getElementById('found');
  const side = document.querySelector('.side .links');
  const entries = all('li', side).map(item => {
    const part = document.getElementById(item.querySelector('a').hash.slice(1));
    const names = [part.id, part.dataset.path, item.textContent].join(' ');
    const words = all('p, .fields code, th, .marks', part).slice(0, 200).map(e => e.textContent).join(' ');
    return { item, names: names.toLowerCase(), text: `${names} ${part.matches('.operation, .chapter') ? words : ''}`.toLowerCase() };
  });
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let matches = 0;
    // What is called so comes alone; only a word that nothing is called is looked for in the texts.
    const called = entries.some(e => words.every(w => e.names.includes(w)));
    for (const e of entries) {
      e.item.hidden = !words.every(w => (called ? e.names : e.text).includes(w));
      if (!e.item.hidden) matches++;
    }
    for (const heading of all('h2', side)) heading.hidden = all('li', heading.nextElementSibling).every(item => item.hidden);
    found.textContent = words.length === 0 ? '' : matches === 1 ? '1 match' : `${matches} matches`;
  };
  input.addEventListener('input', filter);
  input.addEventListener('keydown', event => {
    if (event.key === 'Escape') { input.value = ''; filter(); input.blur(); }
    if (event.key === 'Enter') entries.find(e => !e.item.hidden)?.item.querySelector('a').click();
  });
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select, dialog')) return;
    event.preventDefault();
    document.getElementById('menu').checked = true;
    input.focus();
  });
}
// The theme: the system's, until the reader chooses for this tab.

function startTheme() {
  const button = document.getElementById('theme-button');
  const themes = ['auto', 'light', 'dark'];
  let at = 0;
  const show = () => {
    document.documentElement.dataset.theme = themes[at];
    button.textContent = `Theme: ${themes[at]}`;
  };
  button.addEventListener('click', () => { at = (at + 1) % themes.length; show(); });
  show();
}
// "Try it": a form per operation, made when it is opened, that sends the real request.

// The headers of an answer that tell something; the order is that in which they are shown.
const telling = [
  'Service-Request-Id', 'RateLimit-Remaining', 'RateLimit-Limit', 'ETag', 'Service-Has-More', 'Link', 'Retry-After', 'Allow',
  'Idempotent-Replayed', 'Service-Version', 'Service-Version-Served',
];

function startTry() {
  for (const part of all('.operation[data-method]')) {
    const details = make('details', { class: 'try', toggle() { if (details.open && details.children.length === 1) details.append(...tryForm(part)); } },
      make('summary', {}, 'Try it'));
    part.querySelector('.examples .tabs').after(details);
  }
}

function tryForm(part) {
  const { method, path, effect } = part.dataset;
  const fields = all('li[data-in]', part).filter(field => field.dataset.in !== 'body').map(tryField);
  const hasBody = part.querySelector('li[data-in="body"]') !== null;
  const body = hasBody ? make('textarea', { spellcheck: 'false', rows: 10 }) : null;
  if (body) body.value = exampleBody(part);
  const note = make('p', { class: 'note' });
  const send = make('button', { type: 'submit', class: 'solid' }, 'Send');
  const result = make('div', { class: 'result' }, make('p', { class: 'status', role: 'status' }));
  const form = make('form', {
    async submit(event) {
      event.preventDefault();
      send.disabled = true;
      try { await sendTry({ method, path, effect }, fields, body, result); } finally { send.disabled = false; }
    },
  },
    ...fields.map(field => field.label),
    body && make('label', {}, 'Body', body),
    make('div', { class: 'row' }, send, make('button', { type: 'button', class: 'line', click: askForKey }, 'Key'), note));
  const tell = () => {
    note.textContent = session.demo ? 'With the demo company’s key.' : session.key ? 'With the key of this tab.' : 'Without a key the answer is 401.';
    if (session.key) suggest(path, fields).catch(() => {}); // suggestions are a courtesy: the request will say what is wrong
  };
  document.addEventListener('key', tell);
  tell();
  return [form, result];
}

// tryField is an input for one argument.
function tryField(item) {
  const { name, kind, in: place } = item.dataset;
  const required = item.querySelector(':scope > .required') !== null;
  const choices = all(':scope > .enum code', item).map(code => code.textContent);
  let input;
  if (choices.length > 0) {
    input = make('select', {}, ...(required ? [] : [make('option', { value: '' }, '—')]), ...choices.map(c => make('option', { value: c }, c)));
  } else {
    input = make('input', { type: 'text', inputmode: kind === 'integer' ? 'numeric' : null, autocomplete: 'off', spellcheck: 'false', required: required && place === 'path' });
    const preset = item.querySelector(':scope > .kind code');
    if (preset) input.placeholder = preset.textContent;
  }
  return { name, place, input, label: make('label', {}, make('span', {}, make('code', {}, name), required ? ' required' : ''), input) };
}

// exampleBody is the body of the example, from its spelling in JavaScript.
function exampleBody(part) {
  const text = part.querySelector('pre[data-language="javascript"]').textContent;
  const match = text.match(/JSON\.stringify\(([\s\S]*)\),\n\}\);/);
  return match ? JSON.stringify(JSON.parse(match[1]), null, 2) : '{}';
}

// suggest fills the ids in the path with those of the first records that the lists have.
async function suggest(path, fields) {
  let before = '';
  for (const segment of path.split('/').slice(1)) {
    const name = segment.match(/^\{(.+)\}$/)?.[1];
    const field = fields.find(f => f.name === name && f.place === 'path');
    if (field && !field.input.value) {
      const ids = await idsOf(before);
      if (ids.length > 0 && !field.input.value) field.input.value = ids[0].id;
      if (!field.input.list) {
        const list = make('datalist', { id: `ids-${Math.random().toString(36).slice(2)}` }, ...ids.map(r => make('option', { value: r.id }, r.name ?? r.title ?? '')));
        field.label.append(list);
        field.input.setAttribute('list', list.id);
      }
    }
    before += '/' + (field ? encodeURIComponent(field.input.value) : segment);
  }
}

// idsOf lists the records below a path, by the operation that lists them. Items are listed by their board only.
async function idsOf(path) {
  const below = path.replace('/v1/companies/{companyId}', '');
  const listed = part => part.dataset.method === 'GET' && /^List/.test(part.querySelector('h3').textContent);
  const exact = all('.operation[data-method]').some(part => listed(part) && part.dataset.path === path);
  if (exact) return (await read(below)).items;
  const last = below.slice(below.lastIndexOf('/'));
  const nested = all('.operation[data-method]').find(part => listed(part) && part.dataset.path.endsWith('}' + last));
  if (!nested) return [];
  const [above, parameter] = nested.dataset.path.replace('/v1/companies/{companyId}', '').split(/\/\{(.+)\}/);
  if (!parameter) return [];
  const parents = (await read(above)).items;
  return parents.length > 0 ? (await read(`${above}/${encodeURIComponent(parents[0].id)}${last}`)).items : [];
}

async function sendTry({ method, path, effect }, fields, body, result) {
  const status = result.firstChild;
  status.replaceChildren();
  result.replaceChildren(status);
  try {
    let target = path;
    if (path.includes('{companyId}')) target = path.replace('{companyId}', encodeURIComponent(session.key ? await companyOf() : 'co_unknown'));
    const query = new URLSearchParams(), headers = {};
    for (const { name, place, input } of fields) {
      const value = input.value.trim();
      if (place === 'path') target = target.replace(`{${name}}`, encodeURIComponent(value));
      else if (value && place === 'query') query.set(name, value);
      else if (value && place === 'header') headers[name] = value;
    }
    if (query.size > 0) target += `?${query}`;
    if (effect !== 'read' && !await confirmed(method, target, effect === 'destructive')) return;
    showAnswer(result, await call(method, target, { headers, body: body?.value || undefined }));
  } catch (problem) {
    status.replaceChildren(make('b', { class: 'bad' }, 'No answer'), make('span', {}, problem.message));
  }
}

function showAnswer(result, answer) {
  const size = new TextEncoder().encode(answer.text).length;
  result.firstChild.replaceChildren(
    make('b', { class: answer.ok || answer.status === 304 ? '' : 'bad', 'data-status': answer.status }, String(answer.status)),
    make('span', {}, `${answer.milliseconds} ms · ${size.toLocaleString('en')} bytes`));
  const headers = make('dl');
  for (const name of telling) {
    const value = answer.headers.get(name);
    if (value !== null) headers.append(make('dt', {}, name), make('dd', {}, value));
  }
  result.append(headers);
  if (!answer.text) return;
  const pre = make('pre', { tabindex: '0' }, make('code', {}, coloured(answer.text)));
  result.append(make('figure', { class: 'code' }, make('figcaption', {}, 'Body'), pre, copyButton(() => pre.textContent, 'Copy the body')));
}
