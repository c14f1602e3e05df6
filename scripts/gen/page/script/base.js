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
