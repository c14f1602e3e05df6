// Comfort for the studio. Every page works without it.
'use strict';

const body = document.getElementById('body');
const form = document.getElementById('answer');
const profile = document.getElementById('profile');

// Typed text is not lost by leaving.
let sending = false;
const initial = profile && new URLSearchParams(new FormData(profile)).toString();
const dirty = () => !sending && (
  body && (body.hasAttribute('data-kept') || body.value !== body.defaultValue) && body.value !== '' && !body.readOnly
  || profile && (document.querySelector('.failure.conflict, .wrong') !== null || new URLSearchParams(new FormData(profile)).toString() !== initial));
addEventListener('beforeunload', event => { if (dirty()) event.preventDefault(); });
for (const f of [form, profile]) f?.addEventListener('submit', () => { sending = true; });
addEventListener('pageshow', () => { sending = false; }); // a page that comes back from the browser's memory

// j, k, s and a, unless somebody types.
addEventListener('keydown', event => {
  if (event.key === 'Escape' && document.activeElement === body) { body.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select')) return;
  if (event.key === 'e' && body) { event.preventDefault(); body.focus(); return; }
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (target) { event.preventDefault(); target.click(); }
});

// The points of a chart are one stop of the tab key; the arrows go from one to the next.
for (const points of document.querySelectorAll('.points')) {
  const all = [...points.querySelectorAll('.point')];
  const only = chosen => all.forEach(p => p.setAttribute('tabindex', p === chosen ? '0' : '-1'));
  if (all.length) only(all[all.length - 1]);
  points.addEventListener('keydown', event => {
    const to = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (!to) return;
    event.preventDefault();
    const next = all[Math.min(all.length - 1, Math.max(0, all.indexOf(document.activeElement) + to))];
    only(next);
    next.focus();
  });
}

// The inbox filters as one types.
const search = document.getElementById('q');
const listed = () => document.querySelectorAll('.reviews > li');
search?.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of listed()) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
});

// "3 new": the list is renewed beside the text that somebody types.
const fresh = document.getElementById('fresh');
async function ask() {
  if (document.hidden) return;
  const response = await fetch(fresh.dataset.ask, { headers: { Accept: 'application/json' } }).catch(() => null);
  if (!response?.ok) return; // the service is away for a moment; the next try may succeed
  const known = new Set([...listed()].map(row => row.dataset.id));
  const count = (await response.json()).ids.filter(id => !known.has(id)).length;
  fresh.hidden = count === 0;
  fresh.textContent = '';
  if (count === 0) return;
  const button = document.createElement('button');
  button.className = 'button small';
  button.type = 'button';
  button.textContent = 'Reload the list';
  button.addEventListener('click', renew);
  fresh.append(`${count} new `, button);
}
async function renew() {
  const response = await fetch(location.href).catch(() => null);
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const list = page.getElementById('list');
  if (!list) return;
  const ticked = new Set([...document.querySelectorAll('#list :checked')].map(box => box.value));
  document.getElementById('list').replaceWith(list);
  for (const box of list.querySelectorAll('input[type=checkbox]')) box.checked = ticked.has(box.value);
  fresh.hidden = true;
  const badges = '.side .badge';
  document.querySelector(badges)?.replaceWith(...page.querySelectorAll(badges));
}
if (fresh) {
  setInterval(ask, 30000);
  addEventListener('focus', ask);
}

// Words that the brand avoids are named while somebody types.
const avoided = document.getElementById('avoided');
function warn() {
  const words = body.dataset.avoid.split('|').filter(Boolean).filter(word => body.value.toLowerCase().includes(word.toLowerCase()));
  avoided.hidden = words.length === 0;
  avoided.textContent = words.length ? `The brand avoids ${words.map(word => `“${word}”`).join(', ')}.` : '';
}
if (body && avoided) { body.addEventListener('input', warn); warn(); }

// The browser knows the names of time zones.
const zone = document.getElementById('timezone');
if (zone && Intl.supportedValuesOf) {
  const names = document.createElement('datalist');
  names.id = 'zones';
  for (const name of Intl.supportedValuesOf('timeZone')) names.append(new Option(name, name));
  zone.after(names);
  zone.setAttribute('list', names.id);
}

// The chosen review is in view.
document.querySelector('.reviews .current')?.scrollIntoView({ block: 'nearest' });

// An item is dragged to another place of the board. The arrows on it do the same with keys.
const drop = document.getElementById('drop');
if (drop) {
  let dragged = null;
  const columns = document.querySelectorAll('.column');
  for (const item of document.querySelectorAll('.item[draggable]')) {
    item.addEventListener('dragstart', event => { dragged = item; item.classList.add('dragged'); event.dataTransfer.effectAllowed = 'move'; });
    item.addEventListener('dragend', () => { dragged = null; item.classList.remove('dragged'); for (const c of columns) c.classList.remove('over'); });
  }
  for (const column of columns) {
    column.addEventListener('dragover', event => { if (dragged) { event.preventDefault(); column.classList.add('over'); } });
    column.addEventListener('dragleave', () => column.classList.remove('over'));
    column.addEventListener('drop', event => {
      if (!dragged) return;
      event.preventDefault();
      const below = [...column.querySelectorAll('.item')].find(i => i !== dragged && event.clientY < i.getBoundingClientRect().top + i.offsetHeight / 2);
      drop.action = `/roadmap/items/${encodeURIComponent(dragged.dataset.id)}/move`;
      drop.elements.seen.value = dragged.dataset.seen;
      drop.elements.column.value = column.dataset.column;
      drop.elements.before.value = below ? below.dataset.id : '';
      drop.submit();
    });
  }
}

// A post is dragged to another day. Its form has a field for the same.
const dropDay = document.getElementById('dropday');
if (dropDay) {
  let dragged = null;
  const days = document.querySelectorAll('.day[data-day]');
  for (const post of document.querySelectorAll('.chip')) {
    post.draggable = 'movable' in post.dataset;
    post.addEventListener('dragstart', event => { dragged = post; post.classList.add('dragged'); event.dataTransfer.effectAllowed = 'move'; });
    post.addEventListener('dragend', () => { dragged = null; post.classList.remove('dragged'); for (const d of days) d.classList.remove('over'); });
  }
  for (const day of days) {
    day.addEventListener('dragover', event => { if (dragged) { event.preventDefault(); day.classList.add('over'); } });
    day.addEventListener('dragleave', () => day.classList.remove('over'));
    day.addEventListener('drop', event => {
      if (!dragged || day.contains(dragged)) return;
      event.preventDefault();
      dropDay.action = `/posts/${encodeURIComponent(dragged.dataset.id)}/move`;
      dropDay.elements.seen.value = dragged.dataset.seen;
      dropDay.elements.day.value = day.dataset.day;
      dropDay.submit();
    });
  }
}
