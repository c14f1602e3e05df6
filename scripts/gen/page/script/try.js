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
