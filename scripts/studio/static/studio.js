// Conveniences for the studio. Every page works without this script.
'use strict';

// The path of the studio, which contains a prefix on a team's server. The path of this file is ROOT/static/DIGEST/studio.js.
const root = new URL('../..', document.currentScript.src).pathname;

const body = document.getElementById('body');
const form = document.getElementById('answer');
const profile = document.getElementById('profile');

// Ask before a user leaves a page with unsaved text.
let sending = false;
const initial = profile && new URLSearchParams(new FormData(profile)).toString();
const dirty = () => !sending && (
  body && (body.hasAttribute('data-kept') || body.value !== body.defaultValue) && body.value !== '' && !body.readOnly
  || profile && (profile.hasAttribute('data-kept') || document.querySelector('.failure.conflict:not(.account), .wrong') !== null || new URLSearchParams(new FormData(profile)).toString() !== initial));
addEventListener('beforeunload', event => { if (dirty()) event.preventDefault(); });
for (const f of [form, profile]) f?.addEventListener('submit', () => { sending = true; });
addEventListener('pageshow', () => { sending = false; }); // the browser may restore the page from its cache

// Keep the scroll position of the review list, or scroll the list to the chosen review if that is not
// visible. Do not scroll the window, so that the title of the review stays visible.
const inbox = document.querySelector('.left');
if (inbox) {
  document.getElementById('tickall')?.parentElement.removeAttribute('hidden'); // show it before restoring the scroll position, because it takes up a line
  const tab = () => new URLSearchParams(location.search).get('show') ?? '';
  const was = JSON.parse(sessionStorage.getItem('list') ?? 'null');
  if (was?.tab === tab()) inbox.scrollTop = was.top;
  const current = document.querySelector('.chosen .reviews .current');
  if (current && inbox.scrollHeight > inbox.clientHeight) {
    const top = inbox.getBoundingClientRect().top, seen = Math.min(inbox.clientHeight, innerHeight - top), row = current.getBoundingClientRect();
    if (row.top < top || row.bottom > top + seen) inbox.scrollTop += row.top - top - seen / 3;
  }
  addEventListener('pagehide', () => sessionStorage.setItem('list', JSON.stringify({ tab: tab(), top: inbox.scrollTop })));
} else if (!location.pathname.includes('/bulk/')) {
  sessionStorage.removeItem('list');
}

// After an action, restore the scroll position and the focus.
function locator(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const owner = element.closest('[data-id], form[id], section[id], [id]');
  const base = owner?.dataset.id ? `[data-id="${CSS.escape(owner.dataset.id)}"]` : owner ? `#${CSS.escape(owner.id)}` : '';
  const own = ['name', 'value', 'href', 'aria-label'].filter(name => element.hasAttribute(name)).map(name => `[${name}="${CSS.escape(element.getAttribute(name))}"]`).join('');
  return `${base} ${element.localName}${own}`.trim();
}
const chosen = () => form?.getAttribute('action') ?? document.querySelector('.reviews .current')?.dataset.id ?? '';
function remember(element) {
  const target = element?.closest?.('button, a, input, select, textarea, [data-id]') ?? document.body;
  sessionStorage.setItem('at', JSON.stringify({
    path: location.pathname, scroll: scrollY, chosen: target.closest('#list') ? null : chosen(), top: target.getBoundingClientRect().top, focus: target === document.body ? '' : locator(target),
  }));
}
function goBack() {
  const at = JSON.parse(sessionStorage.getItem('at') ?? 'null'), notice = document.getElementById('notice');
  sessionStorage.removeItem('at');
  if (!new URLSearchParams(location.search).has('done')) return;
  if (at?.path !== location.pathname || at.chosen !== null && at.chosen !== chosen()) { // the page shows a different review: stay at the top, so that its title is visible
    (document.getElementById('review') ?? notice)?.focus({ preventScroll: true });
    return;
  }
  let target = null;
  try { target = at.focus && document.querySelector(at.focus); } catch { /* at.focus is not a valid selector */ }
  if (target?.disabled) target = target.closest('[data-id]')?.querySelector('a, button:not([disabled])');
  if (target && !target.checkVisibility()) target = target.closest('details')?.querySelector('summary') ?? null;
  if (at.chosen === null) { // the action was on ticked reviews, which may no longer be in the list
    scrollTo(0, at.scroll);
    (target ?? notice)?.focus({ preventScroll: true });
    return;
  }
  scrollTo(0, target ? scrollY + target.getBoundingClientRect().top - at.top : at.scroll);
  (target ?? notice)?.focus({ preventScroll: true });
  target?.scrollIntoView({ block: 'nearest' }); // scroll-padding keeps it clear of the message
}
document.addEventListener('submit', event => { if (event.target.method === 'post') remember(event.submitter ?? document.activeElement); });
document.addEventListener('drop', event => remember(document.querySelector('.dragged') ?? event.target));
goBack();

// Focus the form that renames a column when it opens.
for (const rename of document.querySelectorAll('details.rename')) rename.addEventListener('toggle', () => { if (rename.open) rename.querySelector('input[name=name]').select(); });

// Send a form only once on a double click.
const sent = new WeakSet();
document.addEventListener('submit', event => {
  if (event.target.method !== 'post') return;
  if (sent.has(event.target)) { event.preventDefault(); return; }
  sent.add(event.target);
  setTimeout(() => sent.delete(event.target), 2000); // the user may have chosen to stay on the page
});

// Show that a save is still running.
document.addEventListener('submit', event => {
  const button = event.submitter;
  if (button && event.target.method === 'post') setTimeout(() => { if (!button.querySelector('kbd')) button.textContent = button.dataset.busy ?? 'Saving…'; button.classList.add('busy'); }, 300);
});
addEventListener('pageshow', event => { if (event.persisted && document.querySelector('.busy')) location.reload(); });

// Let the user close a message.
const dismiss = document.getElementById('dismiss');
if (dismiss) {
  dismiss.hidden = false;
  dismiss.addEventListener('click', () => { document.getElementById('notice').remove(); });
}

// "?" lists the keyboard shortcuts. Ctrl-K searches the titles of the pages and of the records on this page.
function dialog(id, label) {
  const box = document.createElement('dialog');
  box.id = id;
  box.setAttribute('aria-label', label);
  box.addEventListener('click', event => { if (event.target === box) box.close(); });
  document.body.append(box);
  return box;
}
const keyNames = [['j, k', 'next and previous review'], ['e', 'edit the reply'], ['a', 'approve the reply'], ['s', 'skip the review'], ['Ctrl Enter', 'send the form that has the focus'], ['Esc', 'leave the text'], ['← →', 'along the points of a chart'], ['Ctrl K', 'find a page or a record on this page'], ['?', 'this list']];
function showKeys() {
  const box = document.getElementById('keysdialog') ?? dialog('keysdialog', 'Keys');
  box.replaceChildren();
  const heading = document.createElement('h2'), list = document.createElement('dl');
  heading.textContent = 'Keys';
  for (const [key, does] of keyNames) {
    const dt = document.createElement('dt'), dd = document.createElement('dd'), kbd = document.createElement('kbd');
    kbd.textContent = key;
    dt.append(kbd);
    dd.textContent = does;
    list.append(dt, dd);
  }
  box.append(heading, list);
  box.showModal();
}
function showFinder() {
  const box = document.getElementById('finddialog') ?? dialog('finddialog', 'Find');
  const entries = new Map();
  for (const link of document.querySelectorAll('.side nav a, main a[href^="/"]')) {
    const text = (link.querySelector('strong, h2') ?? link).textContent.trim().replace(/\s+/g, ' ');
    const key = `${link.getAttribute('href')} ${text}`;
    if (text && !entries.has(key)) entries.set(key, { text, href: link.href, more: link.textContent.toLowerCase() });
  }
  const input = document.createElement('input'), list = document.createElement('ul');
  input.type = 'search';
  input.placeholder = 'A page, or a title on this page';
  input.setAttribute('aria-label', 'Find');
  box.replaceChildren(input, list);
  const fill = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [...entries.values()].filter(entry => words.every(word => entry.more.includes(word))).slice(0, 12);
    list.replaceChildren(...found.map(entry => {
      const item = document.createElement('li'), link = document.createElement('a');
      link.href = entry.href;
      link.textContent = entry.text;
      item.append(link);
      return item;
    }));
    if (!found.length) list.append('Nothing on this page has these words.');
  };
  input.addEventListener('input', fill);
  box.onkeydown = event => {
    const links = [...list.querySelectorAll('a')], at = links.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); (links[at + step] ?? (step < 0 ? input : links[at]))?.focus(); }
    if (event.key === 'Enter' && document.activeElement === input) { event.preventDefault(); links[0]?.click(); }
  };
  fill();
  box.showModal();
  input.focus();
}
const comfort = document.querySelector('.comfort');
if (comfort) comfort.hidden = false;
document.getElementById('finder')?.addEventListener('click', showFinder);
document.getElementById('shortcuts')?.addEventListener('click', showKeys);

// sendForm clicks the main button of a field's form: the green one, the one that saves, or the only one.
function sendForm(field) {
  const buttons = [...field.form?.querySelectorAll('button:not([type=button]):not(:disabled)') ?? []];
  const main = buttons.find(button => button.matches('.go')) ?? buttons.find(button => button.value === 'save') ?? (buttons.length === 1 ? buttons[0] : null);
  if (main && field.form.method === 'post') main.click();
  return main !== null;
}

// Keyboard shortcuts such as j, k, s and a. They do nothing while the user is typing.
addEventListener('keydown', event => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') { event.preventDefault(); showFinder(); return; }
  if ((event.ctrlKey || event.metaKey) && event.key === 'Enter') { if (sendForm(event.target)) event.preventDefault(); return; }
  if (event.key === 'Escape' && document.activeElement === body) { body.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input:not([type=checkbox]), textarea, select, dialog')) return;
  if (event.key === '?') { event.preventDefault(); showKeys(); return; }
  if (event.key === 'e' && body) { event.preventDefault(); body.focus(); return; }
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (target) { event.preventDefault(); target.click(); }
});

// The Tab key stops once in each chart. The arrow keys move between the chart's points.
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

// Load the sidebar's badge after the page.
for (const badge of document.querySelectorAll('[data-badge]')) {
  fetch(badge.dataset.badge).then(response => response.ok ? response.text() : '').then(count => {
    if (!/^\d+\+?$/.test(count)) return;
    const unseen = document.createElement('span');
    unseen.className = 'unseen';
    unseen.textContent = ' waiting';
    badge.className = 'badge red';
    badge.title = `${count} to approve or without a reply`;
    badge.append(count, unseen);
  }).catch(() => {}); // the service is unreachable, which the page itself reports
}

// Apply a filter as soon as the user chooses it.
document.querySelector('.filters')?.addEventListener('change', event => { if (event.target.matches('select')) event.target.form.requestSubmit(); });

// Count the ticked reviews. One checkbox ticks all shown reviews. It is missing or hidden while more reviews may match than the page shows.
function countTicked() {
  const ticked = document.querySelectorAll('.reviews :checked').length, note = document.getElementById('ticked'), all = document.getElementById('tickall');
  if (!note) return;
  if (all) {
    all.parentElement.hidden = document.querySelector('.reviews > li[hidden]') !== null;
    all.checked = ticked > 0 && ticked === document.querySelectorAll('.reviews input').length;
  }
  note.textContent = ticked ? `${ticked} ticked:` : 'Tick reviews, then';
  for (const button of document.querySelectorAll('.bulk button')) button.disabled = ticked === 0;
}
document.addEventListener('change', event => {
  if (event.target.id === 'tickall') for (const box of document.querySelectorAll('.reviews input')) box.checked = event.target.checked;
  if (event.target.closest('#list')) countTicked();
});
countTicked();
addEventListener('pageshow', countTicked); // the browser restores the ticks when the user goes back

// Propose a key derived from the metric's name, until the user types a key.
const metricName = document.querySelector(`[action="${root}metrics/definitions"] #name`);
if (metricName) {
  const key = document.getElementById('key');
  let proposed = '';
  metricName.addEventListener('input', () => {
    if (key.value !== proposed) return;
    const words = metricName.value.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean);
    key.value = proposed = words.length ? `custom.${words.join('_')}` : '';
  });
}

// Insert a phrase of the brand at the cursor.
for (const phrase of document.querySelectorAll('[data-phrase]')) phrase.addEventListener('click', () => {
  body.setRangeText(phrase.dataset.phrase, body.selectionStart, body.selectionEnd, 'end');
  body.dispatchEvent(new Event('input'));
  body.focus();
});

// Count the characters of a reply while the user types, because the app store limits them.
const limit = document.getElementById('limit');
if (limit && body) body.addEventListener('input', () => {
  const count = [...body.value].length;
  limit.firstElementChild.textContent = count;
  limit.classList.toggle('over', count > limit.dataset.limit);
});

// Once the text of an approved reply has changed, offer to approve it again.
const reapprove = document.getElementById('reapprove'), replyState = document.getElementById('replystate');
if (reapprove && body) {
  const approved = replyState.textContent;
  const compare = () => {
    const changed = body.value !== body.defaultValue || body.hasAttribute('data-kept');
    reapprove.hidden = !changed;
    reapprove.classList.toggle('go', changed);
    form.querySelector('.actions a')?.classList.toggle('go', !changed);
    replyState.textContent = changed ? `${approved}, text changed` : approved;
    replyState.classList.toggle('green', !changed);
    replyState.classList.toggle('amber', changed);
  };
  body.addEventListener('input', compare);
  addEventListener('pageshow', compare); // the browser restores the text when the user goes back
  compare();
}

// Filter the inbox while the user types.
const search = document.getElementById('q');
const listed = () => document.querySelectorAll('.reviews > li');
search?.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of listed()) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
  countTicked();
});

// Show a notice such as "3 new". Its button reloads the list without losing text that the user is typing.
const fresh = document.getElementById('fresh');
async function ask() {
  if (document.hidden) return;
  const response = await fetch(fresh.dataset.ask, { headers: { Accept: 'application/json' } }).catch(() => null);
  if (!response?.ok) return; // the service is unreachable; the next attempt may succeed
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
  countTicked();
  const badges = '.side .badge';
  document.querySelector(badges)?.replaceWith(...page.querySelectorAll(badges));
}
if (fresh) {
  setInterval(ask, 30000);
  addEventListener('focus', ask);
}

// Warn about words that the brand avoids while the user types.
const avoided = document.getElementById('avoided');
function warn() {
  const words = body.dataset.avoid.split('|').filter(Boolean).filter(word => body.value.toLowerCase().includes(word.toLowerCase()));
  avoided.hidden = words.length === 0;
  avoided.textContent = words.length ? `The brand avoids ${words.map(word => `“${word}”`).join(', ')}.` : '';
}
if (body && avoided) { body.addEventListener('input', warn); warn(); }

// Offer the names of the time zones that the browser knows.
const zone = document.getElementById('timezone');
if (zone && Intl.supportedValuesOf) {
  const names = document.createElement('datalist');
  names.id = 'zones';
  for (const name of Intl.supportedValuesOf('timeZone')) names.append(new Option(name, name));
  zone.after(names);
  zone.setAttribute('list', names.id);
}

// Search a long list while the user types.
const find = document.getElementById('find');
find?.addEventListener('input', () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of document.querySelectorAll(find.dataset.find)) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
});
const listedMetric = document.querySelector('.list [aria-current]');
if (listedMetric) {
  const list = listedMetric.closest('.list');
  if (listedMetric.offsetTop + listedMetric.offsetHeight > list.clientHeight) list.scrollTop = listedMetric.offsetTop - list.clientHeight / 2;
  if (listedMetric.offsetLeft + listedMetric.offsetWidth > list.clientWidth) list.scrollLeft = listedMetric.offsetLeft - (list.clientWidth - listedMetric.offsetWidth) / 2;
}

// Let users drag an item to another place on the board, or move it there with the arrows on its card.
// After a move with an arrow, restore the scroll position and focus the arrow that was pressed.
const drop = document.getElementById('drop');
if (drop) {
  const columns = [...document.querySelectorAll('.column')];
  const whole = 'whole' in document.querySelector('.kanban').dataset;
  const action = item => `${root}roadmap/items/${encodeURIComponent(item.dataset.id)}/move`;
  const arrows = document.getElementById('arrows').content.firstElementChild;
  for (const [n, column] of columns.entries()) {
    const items = [...column.querySelectorAll('.item')];
    for (const [at, item] of items.entries()) {
      const moves = arrows.cloneNode(true);
      moves.action = action(item);
      moves.elements.seen.value = item.dataset.seen;
      const title = item.querySelector('h3').textContent;
      const edges = { left: n === 0, right: n === columns.length - 1, up: whole && at === 0, down: whole && at === items.length - 1 };
      for (const button of moves.querySelectorAll('button')) {
        button.setAttribute('aria-label', `Move ${title} ${button.title[0].toLowerCase()}${button.title.slice(1)}`);
        button.disabled = edges[button.value];
      }
      moves.addEventListener('submit', event => {
        const place = { id: item.dataset.id, to: event.submitter.value, x: document.querySelector('.kanban').scrollLeft, y: scrollY };
        sessionStorage.setItem('moved', JSON.stringify(place));
      });
      item.querySelector('.mover').replaceWith(moves);
    }
  }
  const moved = JSON.parse(sessionStorage.getItem('moved') || 'null');
  sessionStorage.removeItem('moved');
  const item = moved && document.querySelector(`.item[data-id="${CSS.escape(moved.id)}"]`);
  if (item) {
    document.querySelector('.kanban').scrollLeft = moved.x;
    scrollTo(0, moved.y);
    const button = item.querySelector(`button[value="${moved.to}"]`);
    (button.disabled ? item.querySelector('h3 a') : button).focus({ preventScroll: true });
    item.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  let dragged = null;
  const line = document.createElement('li'); // where the item would land
  line.className = 'landing';
  for (const item of document.querySelectorAll('.item[draggable]')) {
    item.addEventListener('dragstart', event => { dragged = item; item.classList.add('dragged'); event.dataTransfer.effectAllowed = 'move'; });
    item.addEventListener('dragend', () => { dragged = null; line.remove(); item.classList.remove('dragged'); for (const c of columns) c.classList.remove('over'); });
  }
  for (const column of columns) {
    const others = () => [...column.querySelectorAll('.item')].filter(i => i !== dragged);
    const below = event => others().find(i => event.clientY < i.getBoundingClientRect().top + i.offsetHeight / 2) ?? null;
    column.addEventListener('dragover', event => {
      if (!dragged) return;
      event.preventDefault();
      column.classList.add('over');
      const next = below(event);
      if (!line.isConnected || line.parentElement !== column.querySelector('ol') || line.nextElementSibling !== next) column.querySelector('ol').insertBefore(line, next);
    });
    column.addEventListener('dragleave', event => { if (!column.contains(event.relatedTarget)) column.classList.remove('over'); });
    column.addEventListener('drop', event => {
      if (!dragged) return;
      event.preventDefault();
      const next = below(event);
      const previous = next ? others()[others().indexOf(next) - 1] : others().at(-1);
      drop.action = action(dragged);
      drop.elements.seen.value = dragged.dataset.seen;
      drop.elements.column.value = column.dataset.column;
      drop.elements.before.value = next ? next.dataset.id : '';
      drop.elements.after.value = previous ? previous.dataset.id : '';
      drop.submit();
    });
  }
}

// Let users drag a post to another day. The post's form has a field that does the same.
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
      dropDay.action = `${root}posts/${encodeURIComponent(dragged.dataset.id)}/move`;
      dropDay.elements.seen.value = dragged.dataset.seen;
      dropDay.elements.day.value = day.dataset.day;
      dropDay.submit();
    });
  }
}

// Show the button that prints the week. It works only with a script.
for (const print of document.querySelectorAll('[data-print]')) {
  print.hidden = false;
  print.addEventListener('click', () => window.print());
}

// Update the preview of a post while the user types. The studio counts and splits the text by the service's rules.
if (profile?.hasAttribute('data-preview')) {
  let waiting = 0, latest = 0;
  const show = async () => {
    const turn = ++latest;
    const response = await fetch(new URL('posts/preview', location.origin + root), { method: 'POST', body: new URLSearchParams(new FormData(profile)) }).catch(() => null);
    if (!response?.ok || turn !== latest) return; // the Preview button still works
    const cards = new DOMParser().parseFromString(await response.text(), 'text/html').getElementById('cards');
    if (!cards || turn !== latest) return;
    document.getElementById('cards').replaceWith(cards);
    const hint = document.getElementById('body-hint');
    if (hint && hint.childElementCount === 0) hint.textContent = cards.dataset.count;
  };
  profile.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(show, 250); });
  const platform = profile.querySelector('select[name=platform]');
  platform?.addEventListener('change', () => platform.selectedOptions[0].defaultSelected || profile.requestSubmit(profile.querySelector('button[value=preview]')));
}
