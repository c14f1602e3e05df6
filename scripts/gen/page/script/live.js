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
